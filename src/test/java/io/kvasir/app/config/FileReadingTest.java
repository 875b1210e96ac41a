package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FileReadingTest {
  @TempDir private Path directory = Path.of("");
  private Path file;
  private Path included;

  @BeforeEach
  void write() throws Exception {
    file = Files.writeString(directory.resolve("router.conf"), "a = 1, include \"more.conf\"");
    included = Files.writeString(directory.resolve("more.conf"), "b = 2");
  }

  @Test
  void file_isReadWithWhatItIncludes() throws Exception {
    FileReading read = FileReading.of(file, ConfigFiles::parse);
    assertThat(read.config().getInt("b")).isEqualTo(2);
    assertThat(read.fingerprints().files()).containsOnlyKeys(file, included);
    assertThat(read.fingerprints().reread()).isEqualTo(read.fingerprints());
  }

  @Test
  void whatIsWrittenMeanwhile_isAChange() throws Exception {
    FileReading read = readAndWrite(2, file, "a = 1, c = 3, include \"more.conf\"");
    assertThat(read.config().hasPath("c")).isFalse();
    assertThat(read.fingerprints().reread()).isNotEqualTo(read.fingerprints());
    read = readAndWrite(2, included, "b = 2, d = 4");
    assertThat(read.config().hasPath("d")).isFalse();
    assertThat(read.fingerprints().reread()).isNotEqualTo(read.fingerprints());
  }

  @Test
  void includeThatIsAddedMeanwhile_isRead() throws Exception {
    Path added = Files.writeString(directory.resolve("added.conf"), "e = 5");
    FileReading read = readAndWrite(1, included, "b = 2, include \"added.conf\"");
    assertThat(read.config().getInt("e")).isEqualTo(5);
    assertThat(read.fingerprints().files()).containsOnlyKeys(file, included, added);
    assertThat(read.fingerprints().reread()).isEqualTo(read.fingerprints());
  }

  @Test
  void fileWithAFault_isNotRead() throws Exception {
    Files.writeString(included, "b = {");
    assertThatThrownBy(() -> FileReading.of(file, ConfigFiles::parse)).isInstanceOf(ConfigException.class);
  }

  /** Writes a file when the others have been parsed that often. */
  private FileReading readAndWrite(int times, Path written, String text) throws Exception {
    AtomicInteger parsed = new AtomicInteger();
    return FileReading.of(file, path -> {
      Config config = ConfigFiles.parse(path);
      if (parsed.incrementAndGet() == times) {
        try {
          Files.writeString(written, text);
        } catch (IOException failed) {
          throw new UncheckedIOException(failed);
        }
      }
      return config;
    });
  }
}
