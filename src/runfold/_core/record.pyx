"""TFRecord framing, and the reasons why reading stops. The functions are inline in `record.pxd`."""
