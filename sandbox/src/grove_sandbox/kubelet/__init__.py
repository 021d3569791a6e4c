"""A kubelet without containers. `kubelet` is what runs, `script` what pods can ask of it by annotations."""
