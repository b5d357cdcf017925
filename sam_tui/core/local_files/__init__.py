"""Reading files of this machine that anybody may have written."""
