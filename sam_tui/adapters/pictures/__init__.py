"""Images as small rasters, decoded in a confined process of their own."""
