package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.WorkerStatus.EventStream;
import io.kvasir.execution.FakeCells;
import java.io.IOException;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SourcesHandlerTest {
  private final FakeCells cells = new FakeCells();

  @ParameterizedTest
  @CsvSource({
    "'',  false,   -1, -1,   -1, false, approximate",
    "zmq, false,   -1, -1,   -1, false, silent",
    "zmq, true,    -1, -1,   -1, false, silent",
    "zmq, true,    -1, -1,   7,  false, snapshot",
    "zmq, false,   -1, -1,   7,  true,  suspect",
    "zmq, false,    5, 1000, 7,  false, silent",
    "zmq, true,     5, 1000, 7,  true,  suspect",
    "zmq, true,     5, 1000, 7,  false, live",
    "zmq, true, 60000, 1000, 7,  false, replaying",
    "zmq, true, 60000, 9000, 7,  false, live"
  })
  void mode_isWhatTheStreamDoes(
      String source, boolean connected, long lag, long age, long sequence, boolean suspect, String mode) {
    long applied = age < 0 ? -1 : System.currentTimeMillis() - age;
    EventStream events = new EventStream(source, connected, lag, applied, 0, 0, null);

    assertThat(EventMode.of(events, suspect, sequence).label()).isEqualTo(mode);
  }

  @Test
  void sources_areThoseOfAllWorkers() throws IOException {
    cells.worker("w", URI.create("http://h:1"), "m");

    JsonNode source =
        TestAdmin.call(new SourcesHandler(cells.fleet), "GET", "/admin/sources", "", 200).at("/sources/0");
    assertThat(source.path("worker").asText()).isEqualTo("w");
    assertThat(source.path("source").asText()).isEqualTo("none");
    assertThat(source.path("mode").asText()).isEqualTo("approximate");
    assertThat(source.path("lag_ms").isNull()).isTrue();
  }
}
