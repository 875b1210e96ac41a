package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.slf4j.LoggerFactory;

/** The log's lines about a request, as the JSON form has them: they carry its ids. */
@Isolated("reads the log")
final class LogLinesTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";

  private final Logger log = (Logger) LoggerFactory.getLogger("io.kvasir");
  private final Level level = log.getLevel();
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  LogLinesTest() {
    logged.start();
    log.addAppender(logged);
    log.setLevel(Level.DEBUG);
  }

  @AfterEach
  void stop() {
    log.detachAppender(logged);
    log.setLevel(level);
  }

  @Test
  void everyLineAboutARequest_carriesItsIds() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(500, "{}"));
        ScriptedPod other = new ScriptedPod((request, out) -> out.json(200, "{}"));
        TestRouter router = new TestRouter()) {
      router.cells.worker("w0", pod.url(), "m");
      router.cells.worker("w1", other.url(), "m");
      for (String model : List.of("m", "none")) {
        router.post(
            "/v1/completions", "{\"model\":\"%s\",\"prompt\":\"Once\"}".formatted(model),
            "X-Request-Id", "log-lines", "traceparent", "00-" + TRACE + "-00f067aa0ba902b7-01");
      }
    }

    List<String> messages = new ArrayList<>();
    for (ILoggingEvent event : List.copyOf(logged.list)) {
      JsonNode line = json(event);
      if ("log-lines".equals(field(line, "request_id"))) {
        assertThat(field(line, "trace_id")).as(event.getFormattedMessage()).isEqualTo(TRACE);
        messages.add(event.getFormattedMessage());
      }
    }
    assertThat(messages).anyMatch(message -> message.startsWith("try 1 at worker w0 failed"))
        .anyMatch(message -> message.contains("refused with 404"))
        .anyMatch(message -> message.contains("status 200"));
  }

  private static JsonNode json(ILoggingEvent event) throws IOException {
    JsonEncoder encoder = new JsonEncoder();
    encoder.start();
    return JSON.readTree(encoder.encode(event));
  }

  /** A key's value in the line's pairs; empty without one. */
  private static String field(JsonNode line, String key) {
    for (JsonNode pair : line.path("kvpList")) {
      if (pair.has(key)) {
        return Objects.requireNonNull(pair.get(key)).asText();
      }
    }
    return "";
  }
}
