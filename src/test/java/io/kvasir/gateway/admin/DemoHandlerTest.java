package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class DemoHandlerTest {
  private final DemoHandler handler = new DemoHandler();
  private final FakeTraffic traffic = new FakeTraffic();

  @Test
  void withoutADemo_thereIsNone() throws IOException {
    TestAdmin.call(handler, "GET", "/admin/demo", "", 404);
    TestAdmin.call(handler, "POST", "/admin/demo", "{\"running\":true}", 404);
  }

  @Test
  void traffic_isSwitched_partByPart() throws IOException {
    handler.offer(traffic);
    assertThat(call("{\"running\":true}").toString()).isEqualTo("{\"running\":true,\"rate\":4.0}");
    assertThat(call("{\"rate\":9.5}").toString()).isEqualTo("{\"running\":true,\"rate\":9.5}");
    assertThat(call("{\"running\":false,\"rate\":1}").path("running").asBoolean()).isFalse();
    assertThat(TestAdmin.call(handler, "GET", "/admin/demo", "", 200).path("rate").asDouble()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{\"rate\":0}", "{\"rate\":51}", "{\"rate\":\"5\"}", "{\"running\":1}", "{\"run\":true}", "[]", "{\"rate\":1e999}"
  })
  void whatIsAskedWrongly_changesNothing(String body) throws IOException {
    handler.offer(traffic);
    TestAdmin.call(handler, "POST", "/admin/demo", body, 400);
    assertThat(traffic.running).isFalse();
    assertThat(traffic.rate).isEqualTo(4);
  }

  private JsonNode call(String body) throws IOException {
    return TestAdmin.call(handler, "POST", "/admin/demo", body, 200);
  }

  private static final class FakeTraffic implements DemoHandler.Traffic {
    private boolean running;
    private double rate = 4;

    @Override
    public boolean running() {
      return running;
    }

    @Override
    public double rate() {
      return rate;
    }

    @Override
    public void change(boolean run, double perSecond) {
      running = run;
      rate = perSecond;
    }
  }
}
