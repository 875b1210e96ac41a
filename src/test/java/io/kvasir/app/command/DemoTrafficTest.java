package io.kvasir.app.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class DemoTrafficTest {
  private final BlockingQueue<JsonNode> requests = new LinkedBlockingQueue<>();

  private HttpServer gateway;

  @BeforeEach
  void start() throws Exception {
    gateway = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    gateway.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    gateway.createContext("/v1/chat/completions", exchange -> {
      requests.add(new ObjectMapper().readTree(exchange.getRequestBody().readAllBytes()));
      exchange.sendResponseHeaders(200, -1);
      exchange.close();
    });
    gateway.start();
  }

  @AfterEach
  void stop() {
    gateway.stop(0);
  }

  @Test
  void conversations_goOn_andShareTheirFirstPrompts() throws Exception {
    try (DemoTraffic traffic = new DemoTraffic(URI.create("http://localhost:" + gateway.getAddress().getPort()), "m")) {
      assertThat(traffic.running()).isFalse();
      traffic.change(true, 1000);
      List<JsonNode> sent = new ArrayList<>();
      while (sent.size() < 200) {
        JsonNode request = requests.poll(60, TimeUnit.SECONDS);
        assertThat(request).as("a request in a minute").isNotNull();
        sent.add(request);
      }
      traffic.change(false, 4);

      assertThat(sent).allSatisfy(each -> assertThat(each.path("model").asText()).isEqualTo("m"));
      assertThat(sent.stream().map(each -> each.at("/messages/0/content").asText()).distinct()).hasSizeBetween(2, 4);
      assertThat(sent).anySatisfy(each -> assertThat(each.path("messages").size()).isGreaterThan(6));
      assertThat(sent).allSatisfy(each -> assertThat(each.path("messages").size()).isLessThan(20));
    }
  }
}
