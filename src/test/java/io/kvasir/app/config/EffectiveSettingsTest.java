package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.gateway.admin.ConfigHandler;
import io.kvasir.gateway.admin.TestAdmin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The configuration as {@code /admin/config} shows it. */
final class EffectiveSettingsTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void settings_sayWhereTheyAreFrom() throws Exception {
    Config config = whole("""
        kvasir {
          gateway.port = 1234
          management.port = ${?PATH}
          pods = [
            { name = a, url = "http://h:1", models = [m], labels { "a.b" = c }, api-key = secret }
          ]
        }
        """);

    JsonNode shown = shown(config, "");

    assertThat(setting(shown, "kvasir.gateway.port").toString())
        .isEqualTo(
            "{\"path\":\"kvasir.gateway.port\",\"value\":1234,\"source\":\"file\",\"from\":\"%s:2\"}"
                .formatted(directory.resolve("router.conf")));
    JsonNode untouched = setting(shown, "kvasir.cell.slots");
    assertThat(untouched.path("source").asText()).isEqualTo("default");
    assertThat(untouched.path("from").asText()).matches("defaults/cells\\.conf:\\d+");
    assertThat(setting(shown, "kvasir.management.port").path("source").asText()).isEqualTo("environment");
    assertThat(setting(shown, "kvasir.pods[0].url").path("from").asText()).endsWith("router.conf:5");
    assertThat(setting(shown, "kvasir.pods[0].api-key").path("value").asText()).isEqualTo("***");
    assertThat(setting(shown, "kvasir.pods[0].models").path("value").toString()).isEqualTo("[\"m\"]");
    assertThat(setting(shown, "kvasir.pods[0].labels.\"a.b\"").path("value").asText()).isEqualTo("c");
  }

  @Test
  void settings_canBeNarrowedDown() throws Exception {
    Config config = whole("kvasir { gateway.port = 1234, pods = [{ name = a }, { name = b }] }");

    assertThat(paths(shown(config, "?set=true")))
        .contains("kvasir.gateway.port", "kvasir.pods[0].name")
        .doesNotContain("kvasir.gateway.host");
    assertThat(paths(shown(config, "?path=gateway"))).isNotEmpty().allMatch(path -> path.startsWith("kvasir.gateway."));
    assertThat(paths(shown(config, "?path=kvasir.pods"))).containsExactly("kvasir.pods[0].name", "kvasir.pods[1].name");
    assertThat(paths(shown(config, "?path=gateway.port&set=true"))).containsExactly("kvasir.gateway.port");
    assertThat(paths(shown(config, "?path=gateway.host&set=true"))).isEmpty();
    ConfigHandler handler = new ConfigHandler(() -> EffectiveSettings.of(config, config));
    assertThat(TestAdmin.call(handler, "GET", "/admin/config?path=gatewy", "", 404).at("/error/message").asText())
        .contains("gatewy");
    assertThat(TestAdmin.call(handler, "GET", "/admin/config?set=yes", "", 400).at("/error/field").asText())
        .isEqualTo("set");
  }

  @Test
  void secrets_areNotShown() throws Exception {
    Config config = whole("""
        kvasir {
          management.admin-keys = [HIDDEN-0123456789abcdef]
          answers.redis { url = "redis://user:HIDDEN@h:1/2", password = HIDDEN }
          events-defaults.push.key = HIDDEN
          pods = [
            { name = a, events = [{ source = push, key = HIDDEN }, { source = redis, url = "rediss://:HIDDEN/@h" }] }
            { name = b, events { source = nats, servers = "nats://u:HIDDEN@a:1,nats://u:HIDDEN@b:1" } }
            { name = c, events { source = push, key = HIDDEN } }
          ]
          lmcache { controller = "http://h/?api_key=HIDDEN&x=1", api-key = HIDDEN, headers { Authorization = HIDDEN } }
          routing.profiles.mine.score = [{ plugin = p, parameters { client-secret = HIDDEN, tokens = 5 } }]
        }
        """);

    JsonNode shown = shown(config, "");

    assertThat(shown.toString()).doesNotContain("HIDDEN");
    assertThat(setting(shown, "kvasir.answers.redis.url").path("value").asText()).isEqualTo("redis://***@h:1/2");
    assertThat(setting(shown, "kvasir.answers.redis.password").path("value").asText()).isEqualTo("***");
    assertThat(setting(shown, "kvasir.management.admin-keys").path("value").toString()).isEqualTo("[\"***\"]");
    assertThat(setting(shown, "kvasir.pods-from.kubernetes.token").path("value").asText())
        .as("a file").contains("/serviceaccount/token");
    assertThat(setting(shown, "kvasir.routing.profiles.mine.score[0].parameters.tokens").path("value").asInt())
        .isEqualTo(5);
    assertThat(setting(shown, "kvasir.answers.key-headers").path("value").toString()).contains("anthropic-version");
  }

  @Test
  void reloadedRouting_isShown_butWhatWaitsForARestart() throws Exception {
    Config started = whole("kvasir.routing { profile = random, reload-interval = 3 s }");
    Config reloaded = whole("kvasir { routing { profile = sticky, reload-interval = 4 s }, gateway.port = 1 }");
    ConfigHandler handler = new ConfigHandler(() -> EffectiveSettings.of(started, reloaded));

    JsonNode shown = TestAdmin.call(handler, "GET", "/admin/config", "", 200);

    assertThat(setting(shown, "kvasir.routing.profile").path("value").asText()).isEqualTo("sticky");
    assertThat(setting(shown, "kvasir.routing.reload-interval").path("value").asText()).isEqualTo("3 s");
    assertThat(setting(shown, "kvasir.gateway.port").path("value").asInt()).isEqualTo(8080);
  }

  private Config whole(String text) throws IOException, ConfigException {
    Path file = Files.writeString(directory.resolve("router.conf"), text);
    return ConfigFiles.load(file, ConfigFactory.empty()).config();
  }

  private static JsonNode shown(Config config, String query) throws IOException {
    ConfigHandler handler = new ConfigHandler(() -> EffectiveSettings.of(config, config));
    return TestAdmin.call(handler, "GET", "/admin/config" + query, "", 200);
  }

  private static JsonNode setting(JsonNode shown, String path) {
    return StreamSupport.stream(shown.path("settings").spliterator(), false)
        .filter(setting -> setting.path("path").asText().equals(path))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no setting " + path));
  }

  private static List<String> paths(JsonNode shown) {
    return shown.path("settings").findValuesAsText("path");
  }
}
