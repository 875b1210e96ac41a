package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.server.ReferenceParser.End;
import io.kvasir.http.server.ReferenceParser.Reading;
import io.kvasir.http.server.ReferenceParser.Request;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/**
 * Mutated requests against the server, compared with a strict parser: the handler sees exactly the requests that this
 * one sees, or the first of them and then a refusal, and each answer is that of its request. The system properties
 * {@code kvasir.fuzz.requests} and {@code kvasir.fuzz.seed} set how many, and which.
 */
final class RequestFuzzTest extends HttpServerFixture {
  private static final int REQUESTS = Integer.getInteger("kvasir.fuzz.requests", 8_000);
  private static final long SEED = Long.getLong("kvasir.fuzz.seed", 20_261_122L);
  private static final long TIMEOUT_SECONDS = 30;

  private static final Pattern LENGTH = Pattern.compile("\r\nContent-Length: (\\d+)\r\n");

  private final Random random = new Random(SEED);
  private final RequestMutator mutator = new RequestMutator(random);
  private int sent;
  private int handled;
  private int refused;
  private int refusedThoughRead;

  /** One answer, and whether it is the connection's last. */
  private record Answer(int status, boolean last, String body) {
    boolean refusesConnection() {
      return status != 200 && last;
    }
  }

  @Test
  void theHandler_seesWhatAStrictParserSees(TestReporter reporter) throws Exception {
    HttpServer server = serve(RequestFuzzTest::tell, settings().withMaxBodyBytes(100_000));
    for (int connection = 0; sent < REQUESTS; connection++) {
      long seed = random.nextLong();
      random.setSeed(seed);
      check(server, connection, seed);
    }
    await(() -> server.openConnections() == 0 && server.runningExchanges() == 0);
    reporter.publishEntry(
        "seed %d: %d requests sent, %d handled, %d refused, %d of them though the strict parser reads them"
            .formatted(SEED, sent, handled, refused, refusedThoughRead));
    // Otherwise it would prove little.
    assertThat(handled).isGreaterThan(REQUESTS / 4);
    assertThat(refused).isGreaterThan(REQUESTS / 20);
    assertThat(refusedThoughRead).isLessThan(refused / 2);
  }

  private void check(HttpServer server, int connection, long seed) throws Exception {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int i = random.nextInt(1, 5); i > 0; i--) {
      all.writeBytes(mutator.request());
      sent++;
    }
    byte[] bytes = all.toByteArray();
    Reading expected = ReferenceParser.read(bytes);
    MemorySocket socket = new MemorySocket(address(connection), mutator.segments(bytes));
    server.admit(socket);
    String what =
        "seed %d, connection %d (%d), sent:\n%s\n".formatted(SEED, connection, seed, new String(bytes, ISO_8859_1));
    boolean rejected = expected.end() == End.REJECTED;
    boolean answered =
        socket.awaitAnswers(
            got -> !rejected && answers(got, expected.requests()).size() >= expected.requests().size(),
            TIMEOUT_SECONDS);
    assertThat(answered).as("answers to " + what + "expected " + expected).isTrue();
    assertThat(socket.endAndAwaitClose(TIMEOUT_SECONDS)).as("end of " + what).isTrue();
    compare(expected, answers(socket.written(), expected.requests()), what);
  }

  private void compare(Reading expected, List<Answer> answers, String what) {
    int i = 0;
    while (i < answers.size() && !answers.get(i).refusesConnection()) {
      assertThat(expected.requests()).as("requests in " + what).hasSizeGreaterThan(i);
      Request request = expected.requests().get(i);
      String told = request.method().equals("HEAD") ? "" : told(request.method(), request.target(), request.body());
      if (answers.get(i).status() != 200) {
        assertThat(answers.get(i).body()).as("answer %s to %s", i, what).contains("Content-Encoding");
      } else if (request.target().startsWith("/")) {
        assertThat(answers.get(i).body()).as("answer %s to %s", i, what).isEqualTo(told);
      }
      i++;
    }
    handled += i;
    if (i < answers.size()) {
      assertThat(answers.get(i).status()).as("answer %s to %s", i, what).isBetween(400, 599).isNotEqualTo(500);
      assertThat(answers).as("answers to " + what).hasSize(i + 1);
      refused++;
      if (i < expected.requests().size()) {
        refusedThoughRead++;
      }
    } else {
      assertThat(i).as("answers to " + what).isEqualTo(expected.requests().size());
      assertThat(expected.end()).as("end of " + what).isNotEqualTo(End.REJECTED);
    }
  }

  private static Response tell(Exchange exchange) {
    return text(200, told(exchange.method(), exchange.target(), new String(exchange.body(), ISO_8859_1)));
  }

  private static String told(String method, String target, String body) {
    return method + ' ' + target + ' ' + body.length() + ' ' + body.hashCode();
  }

  /** The whole answers among what came; the last one may have been cut. */
  private static List<Answer> answers(byte[] got, List<Request> requests) {
    String text = new String(got, ISO_8859_1);
    List<Answer> answers = new ArrayList<>();
    int at = 0;
    while (true) {
      int body = text.indexOf("\r\n\r\n", at) + 4;
      if (body < 4) {
        return answers;
      }
      String head = text.substring(at, body);
      int status = Integer.parseInt(head, 9, 12, 10);
      if (status == 100) {
        at = body;
        continue;
      }
      Matcher length = LENGTH.matcher(head);
      assertThat(length.find()).as(head).isTrue();
      boolean bodiless =
          answers.size() < requests.size() && status == 200 && requests.get(answers.size()).method().equals("HEAD");
      int end = body + (bodiless ? 0 : Integer.parseInt(length.group(1)));
      if (end > text.length()) {
        return answers;
      }
      answers.add(new Answer(status, head.contains("\r\nConnection: close\r\n"), text.substring(body, end)));
      at = end;
    }
  }

  /** An address for each connection, so that none is limited. */
  private static InetAddress address(int connection) throws Exception {
    return InetAddress.getByAddress(
        new byte[] {10, (byte) (connection >> 16), (byte) (connection >> 8), (byte) connection});
  }
}
