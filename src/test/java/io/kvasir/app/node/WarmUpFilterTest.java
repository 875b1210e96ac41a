package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.spi.FilterReply;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What of a warm-up is left out of the log. */
final class WarmUpFilterTest {
  @Test
  void partsOfTheWarmUp_areLeftOut_byThreadAndByActor() {
    assertThat(reply("kvasir-warm-up-events", "io.kvasir.http.server.HttpServer", "")).isEqualTo(FilterReply.DENY);
    assertThat(reply("dispatcher-3", "io.kvasir.cell.home.Cell", "pekko://kvasir/system/kvasir-warm-up/$a"))
        .isEqualTo(FilterReply.DENY);
  }

  @Test
  void theWarmUpItself_andTheNode_areLogged() {
    assertThat(reply("kvasir-warm-up", "io.kvasir.app.node.WarmUp", "")).isEqualTo(FilterReply.NEUTRAL);
    assertThat(reply("main", "io.kvasir.http.server.HttpServer", "")).isEqualTo(FilterReply.NEUTRAL);
    assertThat(reply("dispatcher-3", "io.kvasir.cell.home.Cell", "pekko://kvasir/user/cell"))
        .isEqualTo(FilterReply.NEUTRAL);
  }

  private static FilterReply reply(String thread, String logger, String actor) {
    LoggingEvent event = new LoggingEvent();
    event.setThreadName(thread);
    event.setLoggerName(logger);
    event.setLevel(Level.WARN);
    event.setMDCPropertyMap(Map.of("pekkoSource", actor));
    return new WarmUpFilter().decide(event);
  }
}
