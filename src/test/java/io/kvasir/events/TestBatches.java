package io.kvasir.events;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Batches as engines publish them: number n removes the block with key n. */
final class TestBatches {
  private static final double EPOCH = 1_800_000_000;

  private TestBatches() {}

  /** In msgpack; {@code epoch} counts the engine's restarts; later epochs publish later. */
  static byte[] msgpack(long number, int epoch, int padding) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packArrayHeader(3).packDouble(EPOCH + 10_000 * epoch + number / 1e3).packArrayHeader(1);
      packer.packMapHeader(padding > 0 ? 4 : 3).packString("type").packString("BlockRemoved");
      packer.packString("block_hashes").packArrayHeader(1).packLong(number);
      packer.packString("medium").packString("GPU");
      if (padding > 0) {
        packer.packString("padding").packBinaryHeader(padding).writePayload(new byte[padding]);
      }
      packer.packInt(0);
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The same as JSON, without its number. */
  static byte[] json(long number, int epoch) {
    return String.format(
            Locale.ROOT,
            "{\"ts\":%.3f,\"events\":[{\"type\":\"BlockRemoved\",\"block_hashes\":[%d],\"medium\":\"GPU\"}]}",
            EPOCH + 10_000 * epoch + number / 1e3,
            number)
        .getBytes(StandardCharsets.UTF_8);
  }
}
