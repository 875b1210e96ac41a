package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static io.kvasir.lmcache.ScriptedController.row;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.config.ConfigFiles;
import io.kvasir.app.node.Node;
import io.kvasir.lmcache.ScriptedController;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The configurations of conf/examples that go by LMCache, started as they are but for the addresses. */
final class LmCacheExamplesIT {
  @ParameterizedTest
  @CsvSource({
    "lmcache-occupancy-prefill-decode.conf, prefill-0, otherwise=prefill-by-load",
    "lmcache-lookup-prefill-decode.conf, prefill-1, otherwise=prefill-by-load"
  })
  void example_readsPromptsByLmCache_andGeneratesBySession(String file, String prefill, String silent)
      throws Exception {
    try (ScriptedController controller = new ScriptedController();
        SimEngine prefill0 = engine();
        SimEngine prefill1 = engine();
        SimEngine decode0 = engine();
        SimEngine decode1 = engine()) {
      controller.setWorkers(
          row("prefill-0", 0, "10.0.0.1", 1000, 1000, 30), row("prefill-1", 0, "10.0.0.2", 1000, 1000, 3));
      controller.layout = "{\"prefill-1\":[\"LocalCPUBackend\",512]}";
      Config own =
          ConfigFactory.parseString(
                  """
                  kvasir {
                    lmcache { controller = "%s", poll-interval = 200 ms, stale-after = 2 s, controller-timeout = 1 s }
                    lmcache.remember = 1 ms
                    models = [{ name = "Qwen/Qwen3-32B", directory = "bundled:kvasir-demo", block-size = 16 }]
                    pods = [
                      { name = prefill-0, url = "%s", models = ["Qwen/Qwen3-32B"], role = prefill }
                      { name = prefill-1, url = "%s", models = ["Qwen/Qwen3-32B"], role = prefill }
                      { name = decode-0, url = "%s", models = ["Qwen/Qwen3-32B"], role = decode }
                      { name = decode-1, url = "%s", models = ["Qwen/Qwen3-32B"], role = decode }
                    ]
                  }
                  """
                      .formatted(
                          controller.address(), prefill0.url(), prefill1.url(), decode0.url(), decode1.url()))
              .withFallback(ConfigFiles.parse(Path.of("conf", "examples", file)));
      try (Node node = TestNodes.start(own)) {
        await("the workers are healthy", () -> DemoCommand.healthy(node) == 4);
        await("LMCache has a say", () -> {
          HttpResponse<String> answer = ask(node, "s0");
          return header(answer, "X-Router-Prefill-Backend").equals(prefill)
              && !reason(answer).contains("otherwise=");
        });
        for (String session : new String[] {"s1", "s2", "s3", "s4"}) {
          String decoded = header(ask(node, session), "X-Router-Backend");
          assertThat(decoded).startsWith("decode-");
          assertThat(header(ask(node, session), "X-Router-Backend")).isEqualTo(decoded);
        }
        controller.stop();
        await("silence leaves it to load", () -> reason(ask(node, "s0")).contains(silent));
      }
    }
  }

  private static String reason(HttpResponse<String> answer) {
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return header(answer, "X-Router-Reason");
  }

  private static SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .host("127.0.0.1")
            .port(0)
            .model("Qwen/Qwen3-32B")
            .speed(0)
            .events(EventSettings.OFF)
            .transfer(TransferSettings.of(TransferDialect.VLLM_NIXL))
            .build());
  }

  private static HttpResponse<String> ask(Node node, String session) throws Exception {
    String body =
        """
        {"model":"Qwen/Qwen3-32B","max_tokens":1,"messages":[{"role":"user","content":"%s"}]}"""
            .formatted("Where was I? ".repeat(200));
    return TestNodes.post(node, "/v1/chat/completions", body, "X-Session-ID", session);
  }
}
