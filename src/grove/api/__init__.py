"""The vocabulary: Grove's kinds, names, labels and conditions. Also the SDK that users import."""
