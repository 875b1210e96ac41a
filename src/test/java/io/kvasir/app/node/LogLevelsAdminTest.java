package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.admin.TestAdmin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Levels of loggers that change while the process runs. */
final class LogLevelsAdminTest {
  private static final String PATH = "/admin/log/levels";

  private final LoggerContext loggers = new LoggerContext();
  private final LogLevelsAdmin admin = new LogLevelsAdmin(loggers);

  LogLevelsAdminTest() {
    loggers.getLogger("ROOT").setLevel(Level.INFO);
    loggers.getLogger("org.apache").setLevel(Level.WARN);
  }

  private JsonNode set(String logger, String level, int status) throws Exception {
    return TestAdmin.call(
        admin, "POST", PATH, "{\"logger\":\"%s\",\"level\":%s}".formatted(logger, level), status);
  }

  private static String level(JsonNode answer, String logger) {
    for (JsonNode each : answer.path("levels")) {
      if (each.path("logger").asText().equals(logger)) {
        return each.path("level").asText();
      }
    }
    return "";
  }

  @Test
  void level_holdsForTheLoggersBelow_untilItIsTakenBack() throws Exception {
    JsonNode before = TestAdmin.call(admin, "GET", PATH, "", 200);
    assertThat(level(before, "ROOT")).isEqualTo("info");
    assertThat(level(before, "org.apache")).isEqualTo("warn");

    JsonNode changed = set("io.kvasir", "\"debug\"", 200);

    assertThat(level(changed, "io.kvasir")).isEqualTo("debug");
    assertThat(loggers.getLogger("io.kvasir.access").isDebugEnabled()).isTrue();
    assertThat(loggers.getLogger("other").isDebugEnabled()).isFalse();
    assertThat(set("io.kvasir", "null", 200)).isEqualTo(before);
    assertThat(loggers.getLogger("io.kvasir.access").isDebugEnabled()).isFalse();
  }

  @Test
  void configuredLevel_comesBack() throws Exception {
    set("org.apache", "\"trace\"", 200);
    set("org.apache", "\"off\"", 200);
    assertThat(level(set("org.apache", "null", 200), "org.apache")).isEqualTo("warn");
    set("ROOT", "\"error\"", 200);
    assertThat(loggers.getLogger("any").isInfoEnabled()).isFalse();
    assertThat(level(set("ROOT", "null", 200), "ROOT")).isEqualTo("info");
  }

  @ParameterizedTest
  @CsvSource({"'', '\"info\"', logger", "a b, '\"info\"', logger", "a, '\"loud\"', level", "a, 7, level"})
  void malformedChange_saysWhich(String logger, String level, String field) throws Exception {
    assertThat(set(logger, level, 400).at("/error/field").asText()).isEqualTo(field);
  }

  @Test
  void loggersOfTheirOwnLevel_areBounded() throws Exception {
    for (int i = 0; i < 100; i++) {
      set("l" + i, "\"info\"", 200);
    }
    set("more", "\"info\"", 409);
    set("l7", "null", 200);
  }
}
