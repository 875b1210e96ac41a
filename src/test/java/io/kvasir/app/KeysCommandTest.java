package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.access.KeyDigest;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kvasir keys} with a file. */
final class KeysCommandTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path directory = Path.of("");
  private Path file = Path.of("");

  @BeforeEach
  void name() {
    file = directory.resolve("keys.json");
  }

  @Test
  void createdKey_isPrintedOnce_andKeptAsItsDigest() throws Exception {
    TestCommand created = keys(
        "create", "team-a", "--tenant", "a", "--models", "llama-*,gpt-oss", "--rpm", "60", "--budget", "1000/1d",
        "--isolation", "group=friends", "--not-after", "2999-01-31");
    assertThat(created.status()).as(created.err()).isZero();
    String secret = secret(created);
    assertThat(created.out()).contains("team-a: created, tenant a", "curl ", "Bearer " + secret);
    assertThat(Files.readString(file)).doesNotContain(secret).contains(KeyDigest.of(secret).hex());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-------");
    JsonNode entry = entries().get(0);
    assertThat(entry.path("models")).hasSize(2);
    assertThat(entry.at("/limits/requests-per-minute").asInt()).isEqualTo(60);
    assertThat(entry.at("/isolation/group").asText()).isEqualTo("friends");
    TestCommand listed = keys("list");
    assertThat(listed.out())
        .contains("KEY", "team-a", "active", KeyDigest.of(secret).shortHex(), "2999-01-31", "requests per minute 60")
        .doesNotContain(KeyDigest.of(secret).hex());
  }

  @Test
  void key_isDisabledEnabledRotatedAndDeleted() throws Exception {
    String first = secret(keys("create", "a", "--tenant", "t"));
    assertThat(secret(keys("create", "b", "--tenant", "t"))).isNotEqualTo(first);
    assertThat(keys("disable", "a").out()).contains("a: disabled");
    assertThat(keys("list").out()).containsPattern("a +t +disabled").containsPattern("b +t +active");
    assertThat(keys("enable", "a").out()).contains("a: active");
    String second = secret(keys("rotate", "a", "--overlap", "1h"));
    assertThat(entries().get(0).path("sha256").asText()).isEqualTo(KeyDigest.of(second).hex());
    assertThat(entries().get(0).at("/previous/sha256").asText()).isEqualTo(KeyDigest.of(first).hex());
    secret(keys("rotate", "a"));
    assertThat(entries().get(0).has("previous")).isFalse();
    assertThat(keys("delete", "a").out()).contains("a: deleted");
    assertThat(entries()).hasSize(1);
    for (String command : new String[] {"disable", "enable", "rotate", "delete"}) {
      TestCommand refused = keys(command, "nobody");
      assertThat(refused.status()).as(command).isEqualTo(1);
      assertThat(refused.err()).contains("no key of that id");
    }
  }

  @Test
  void mistakes_changeNothing() throws Exception {
    secret(keys("create", "a", "--tenant", "t"));
    String before = Files.readString(file);
    assertThat(keys("create", "a", "--tenant", "t").err()).contains("'a' already");
    assertThat(keys("create", "b c", "--tenant", "t", "--apis", "chats").err()).contains("id ", "apis ", "'chats'");
    assertThat(keys("create", "b", "--tenant", "t", "--budget", "many").err()).contains("1000000/1d");
    assertThat(keys("create", "b").status()).isEqualTo(2);
    assertThat(keys("rotate", "a", "--overlap", "soon").err()).contains("no duration");
    assertThat(file).hasContent(before);
  }

  @Test
  void fileOfADirectoryThatIsNotThere_isSaidSo() {
    file = directory.resolve("none/keys.json");
    TestCommand refused = keys("create", "a", "--tenant", "t");
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains(file + " cannot be written; does its directory exist");
  }

  @Test
  void fileWithComments_isListed_andNotRewritten() throws Exception {
    String written = "# ours\nkeys = [{ id = a, tenant = t, sha256 = %s }]\n".formatted(KeyDigest.of("x").hex());
    Files.writeString(file.resolveSibling("keys.conf"), written);
    file = directory.resolve("keys.conf");
    assertThat(keys("list").out()).contains("a");
    TestCommand refused = keys("disable", "a");
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains("keys.conf", "comments");
    assertThat(file).hasContent(written);
  }

  @Test
  void digest_isThatOfStandardInput() {
    InputStream stdin = System.in;
    try {
      System.setIn(new ByteArrayInputStream("my key\n".getBytes(StandardCharsets.UTF_8)));
      assertThat(TestCommand.run("keys", "digest").out().strip()).isEqualTo(KeyDigest.of("my key").hex());
      System.setIn(InputStream.nullInputStream());
      assertThat(TestCommand.run("keys", "digest").status()).isEqualTo(1);
    } finally {
      System.setIn(stdin);
    }
  }

  private TestCommand keys(String... arguments) {
    return TestCommand.run(
        Stream.concat(
                Stream.concat(Stream.of("keys"), Arrays.stream(arguments)), Stream.of("--file", file.toString()))
            .toArray(String[]::new));
  }

  private JsonNode entries() throws Exception {
    return JSON.readTree(Files.readAllBytes(file)).path("keys");
  }

  private static String secret(TestCommand done) {
    assertThat(done.status()).as(done.err()).isZero();
    String secret = done.out().lines().filter(line -> line.startsWith("kv-")).findFirst().orElseThrow();
    assertThat(secret).matches("kv-[A-Za-z0-9_-]{43}");
    return secret;
  }
}
