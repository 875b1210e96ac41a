package io.kvasir.telemetry;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file of lines that is rotated when it reaches its maximum size. Where it ends in a part of a line, which a full
 * disk or a killed process leaves, the next line begins below it. One thread.
 */
final class RotatingFile implements AutoCloseable {
  private final Path path;
  private final long maxBytes;
  private final int keep;
  private @Nullable OutputStream out;
  private long bytes;

  RotatingFile(LogFileSettings settings) {
    this.path = settings.path();
    this.maxBytes = settings.maxBytes();
    this.keep = settings.keep();
  }

  /**
   * Adds a line.
   *
   * @param flush whether to flush it to the file at once
   * @throws IOException when it cannot be written; the next line opens the file again
   */
  void write(String line, boolean flush) throws IOException {
    byte[] text = (line + "\n").getBytes(StandardCharsets.UTF_8);
    try {
      OutputStream file = open(text.length);
      file.write(text);
      bytes += text.length;
      if (flush) {
        file.flush();
      }
    } catch (IOException failed) {
      drop();
      throw failed;
    }
  }

  @Override
  public void close() throws IOException {
    OutputStream file = out;
    out = null;
    if (file != null) {
      file.close();
    }
  }

  private OutputStream open(int more) throws IOException {
    if (out != null && bytes > 0 && bytes + more > maxBytes) {
      close();
      rotate();
    }
    OutputStream file = out;
    if (file == null) {
      Path directory = path.toAbsolutePath().getParent();
      if (directory != null) {
        Files.createDirectories(directory);
      }
      file =
          new BufferedOutputStream(
              Files.newOutputStream(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND));
      out = file;
      bytes = Files.size(path);
      if (endsInPart()) {
        file.write('\n');
        bytes++;
      }
    }
    return file;
  }

  /** Whether the file, of {@link #bytes}, ends without the end of a line; not so where that cannot be read. */
  private boolean endsInPart() throws IOException {
    if (bytes == 0 || !Files.isReadable(path)) {
      return false;
    }
    try (SeekableByteChannel file = Files.newByteChannel(path)) {
      ByteBuffer last = ByteBuffer.allocate(1);
      return file.position(bytes - 1).read(last) == 1 && last.get(0) != '\n';
    }
  }

  private void rotate() throws IOException {
    for (int i = keep; i > 0; i--) {
      Path from = i == 1 ? path : rotated(i - 1);
      if (Files.exists(from)) {
        Files.move(from, rotated(i), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    if (keep == 0) {
      Files.deleteIfExists(path);
    }
  }

  private Path rotated(int number) {
    return path.resolveSibling(path.getFileName() + "." + number);
  }

  private void drop() {
    try {
      close();
    } catch (IOException alsoFailed) {
      out = null;
    }
  }
}
