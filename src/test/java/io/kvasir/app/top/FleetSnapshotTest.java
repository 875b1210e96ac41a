package io.kvasir.app.top;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.app.admin.AdminClient;
import io.kvasir.app.admin.AdminFailedException;
import io.kvasir.app.admin.AdminOptions;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Snapshots out of the stream of a router's admin API. */
final class FleetSnapshotTest {
  private static final String STREAM =
      """
      event: workers
      data: {"full":{"workers":{"a/0":{"id":"a/0","in_flight":1},"b/0":{"id":"b/0","in_flight":2,"why":"x"}}}}

      event: vitals
      data: {"full":{"time":"t1","in_flight":3,"regret":0.5}}

      :

      event: workers
      data: {"patch":{"workers":{"a/0":null,"b/0":{"in_flight":7,"why":null},"c/0":{"id":"c/0","in_flight":0}}}}

      event: vitals
      data: {"patch":{"time":"t2","in_flight":7}}

      """;

  @Command
  private static final class Options {
    @Mixin private AdminOptions admin = new AdminOptions();
  }

  @Test
  void oneStream_givesTheFleetAsItChanges() throws Exception {
    List<FleetSnapshot> snapshots = new ArrayList<>();
    assertThat(followed(200, STREAM, snapshots)).containsExactly("GET /admin/watch?topics=vitals,workers");

    assertThat(snapshots.getFirst().json()).hasToString(
        "{'vitals':{'time':'t1','in_flight':3,'regret':0.5},'workers':[{'id':'a/0','in_flight':1},"
            .replace('\'', '"')
            + "{'id':'b/0','in_flight':2,'why':'x'}]}".replace('\'', '"'));
    assertThat(snapshots.getLast().json()).hasToString(
        "{'vitals':{'time':'t2','in_flight':7,'regret':0.5},'workers':[{'id':'b/0','in_flight':7},"
            .replace('\'', '"')
            + "{'id':'c/0','in_flight':0}]}".replace('\'', '"'));
  }

  @Test
  void refusal_isTold() {
    assertThatThrownBy(
        () -> followed(503, "{\"error\":{\"message\":\"32 streams are being watched\"}}", new ArrayList<>()))
        .isInstanceOf(AdminFailedException.class).hasMessage("32 streams are being watched");
    assertThatThrownBy(() -> followed(404, "<p>not here", new ArrayList<>()))
        .isInstanceOf(AdminFailedException.class).hasMessageContaining("no Kvasir router");
  }

  @Test
  void otherFrames_areRefused() {
    assertThatThrownBy(() -> followed(200, "event: vitals\ndata: {\"half\":{}}\n\n", new ArrayList<>()))
        .isInstanceOf(AdminFailedException.class).hasMessageContaining("broke off");
    assertThatThrownBy(() -> followed(200, "event: vitals\ndata: {\n\n", new ArrayList<>()))
        .isInstanceOf(AdminFailedException.class).hasMessageContaining("no JSON");
  }

  /** What is asked of a router that answers this, byte by byte; a later snapshot leaves an earlier one as it was. */
  private static List<String> followed(int status, String answer, List<FleetSnapshot> snapshots) throws Exception {
    List<String> asked = new CopyOnWriteArrayList<>();
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
      exchange.sendResponseHeaders(status, 0);
      try (exchange; OutputStream body = exchange.getResponseBody()) {
        for (byte each : answer.getBytes(StandardCharsets.UTF_8)) {
          body.write(each);
          body.flush();
        }
      }
    });
    server.start();
    try (AdminClient client = client(server)) {
      FleetSnapshot.follow(client, snapshots::add);
    } finally {
      server.stop(0);
    }
    return asked;
  }

  private static AdminClient client(HttpServer server) throws AdminFailedException, IOException {
    Options options = new Options();
    new CommandLine(options).parseArgs("--management", "http://127.0.0.1:" + server.getAddress().getPort());
    return options.admin.client();
  }
}
