package io.kvasir.access.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Writing of files that only their owner may read. */
public final class PrivateFile {
  private PrivateFile() {}

  /**
   * Replaces a file whole: a crash leaves the old one or the new one. It is its owner's alone from its first byte on,
   * and on the disk when this returns.
   */
  public static void replace(Path file, byte[] content) throws IOException {
    Path target = file.toAbsolutePath();
    // A temporary file is its owner's alone.
    Path next = Files.createTempFile(target.getParent(), target.getFileName().toString(), ".new");
    try {
      try (FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE)) {
        ByteBuffer left = ByteBuffer.wrap(content);
        while (left.hasRemaining()) {
          channel.write(left);
        }
        channel.force(true);
      }
      Files.move(next, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(next);
    }
  }
}
