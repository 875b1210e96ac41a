package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import io.kvasir.http.client.ScriptedPod;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.slf4j.LoggerFactory;

/** What clients and engines write is in no line of the log, whatever becomes of a request, and in no metric. */
@Isolated("reads the log")
final class PromptTextTest {
  private static final String TEXT = "SECRET";

  private final Logger log = (Logger) LoggerFactory.getLogger("io.kvasir");
  private final Level level = log.getLevel();
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
    @Override
    protected void append(ILoggingEvent event) {
      lines.add(event.getFormattedMessage()
          + (event.getThrowableProxy() == null ? "" : ThrowableProxyUtil.asString(event.getThrowableProxy())));
    }
  };

  @BeforeEach
  void listen() {
    log.setLevel(Level.TRACE);
    log.setAdditive(false);
    appender.start();
    log.addAppender(appender);
  }

  @AfterEach
  void restore() {
    log.detachAppender(appender);
    log.setLevel(level);
    log.setAdditive(true);
  }

  private static String chat(String more) {
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + TEXT + "\"}]" + more + "}";
  }

  @Test
  void requests_whateverBecomesOfThem_leaveNoTextInLogAndMetrics() throws Exception {
    String error = "{\"error\":{\"message\":\"" + TEXT + "\",\"code\":\"" + TEXT + "\"}}";
    try (TestRouter router = new TestRouter();
        ScriptedPod pod = new ScriptedPod((request, out) -> {
          String body = request.text();
          if (body.contains("\"status\":200")) {
            out.json(200, "{\"choices\":[{\"message\":{\"content\":\"" + TEXT + "\"}}]}");
          } else if (body.contains("\"status\":400")) {
            out.json(400, error);
          } else if (body.contains("\"status\":500")) {
            out.json(500, error);
          } else if (body.contains("\"status\":0")) {
            out.raw(TEXT + "\r\n\r\n");
          } else {
            out.events().chunk("data: " + error + "\n\n").end();
          }
        })) {
      router.cells.worker("w0", pod.url(), "m");
      for (int status : new int[] {200, 400, 500, 0, 1}) {
        for (String stream : new String[] {"", ",\"stream\":true"}) {
          router.post("/v1/chat/completions", chat(",\"status\":" + status + stream));
        }
      }
      for (String path : new String[] {"/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings",
          "/v1/completions", "/v1/route/v1/chat/completions"}) {
        router.post(path, chat(",\"chat_template\":\"{{ " + TEXT + " }}\""));
        router.post(path, chat(",\"tools\":\"" + TEXT + "\",\"prompt\":{\"" + TEXT + "\":1},\"input\":[{\"type\":3}]"));
        router.post(path, "{\"model\":\"m\",\"messages\":[" + TEXT);
        router.post(path, "{\"model\":{\"" + TEXT + "\":1}}");
        router.post(path, "[\"" + TEXT + "\"]");
        router.post(path, "{\"model\":\"" + TEXT + "\",\"messages\":[]}");
        router.post(path, "{\"model\":\"m\",\"messages\":[{\"" + TEXT.repeat(10_000) + "\":1}]}");
        router.post(path, "{\"model\":\"m\",\"messages\":" + "[".repeat(1100) + "\"" + TEXT);
      }
      ByteArrayOutputStream metrics = new ByteArrayOutputStream();
      PrometheusTextFormatWriter.create().write(metrics, router.registry.scrape());
      assertThat(metrics.toString(StandardCharsets.UTF_8)).doesNotContain(TEXT);
    }
    assertThat(lines).isNotEmpty().noneMatch(line -> line.contains(TEXT));
  }
}
