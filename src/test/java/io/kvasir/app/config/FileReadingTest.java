package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
    FileReading read = readAndWrite(file, "a = 1, c = 3, include \"more.conf\"");
    assertThat(read.config().hasPath("c")).isFalse();
    assertThat(read.fingerprints().reread()).isNotEqualTo(read.fingerprints());
    read = readAndWrite(included, "b = 2, d = 4");
    assertThat(read.config().hasPath("d")).isFalse();
    assertThat(read.fingerprints().reread()).isNotEqualTo(read.fingerprints());
  }

  @Test
  void fileWithAFault_isNotRead_butKnown() throws Exception {
    Files.writeString(included, "b = {");
    FileReading read = FileReading.of(file, ConfigFiles::parse);
    assertThatThrownBy(read::config).isInstanceOf(ConfigException.class);
    assertThat(read.fingerprints().files()).containsOnlyKeys(file, included);
  }

  @Test
  void everyWayToInclude_isKnown() throws Exception {
    Path deeper = Files.writeString(Files.createDirectory(directory.resolve("deeper")).resolve("a.conf"), "c = 3");
    Path below = Files.writeString(deeper.resolveSibling("b.json"), "{ \"d\": 4 }");
    Path unused = Files.writeString(directory.resolve("unused.conf"), "a = 5");
    Files.writeString(deeper, "c = 3, include \"b.json\"");
    Files.writeString(
        file,
        """
        include "unused"
        include file("%s")
        include url("file:%s")
        include "absent.conf"
        a = 1
        """.formatted(deeper, included));

    FileReading read = FileReading.of(file, ConfigFiles::parse);

    assertThat(read.config()).isEqualTo(ConfigFactory.parseString("a = 1, b = 2, c = 3, d = 4"));
    assertThat(read.fingerprints().files()).containsOnlyKeys(
        file, included, deeper, below, unused, directory.resolve("unused.json"),
        directory.resolve("unused.properties"), directory.resolve("absent.conf"));
    assertThat(read.missing().names()).containsExactly("absent.conf");
    assertThat(read.missing().problem()).hasValueSatisfying(
        problem -> assertThat(problem.line()).contains("absent.conf", "include required(...)"));
  }

  /** Writes a file when it has been parsed. */
  private FileReading readAndWrite(Path written, String text) {
    return FileReading.of(file, (path, files) -> {
      Config config = ConfigFiles.parse(path, files);
      try {
        Files.writeString(written, text);
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
      return config;
    });
  }
}
