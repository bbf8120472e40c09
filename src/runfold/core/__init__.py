"""The only code that knows bytes: TFRecord framing, CRC32C and the protobuf wire. No I/O."""
