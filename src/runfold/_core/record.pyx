"""TFRecord framing, and why reading records stops. The functions are in `record.pxd`, inline."""
