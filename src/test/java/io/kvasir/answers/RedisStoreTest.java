package io.kvasir.answers;

import static io.kvasir.Await.await;
import static io.kvasir.answers.TestAnswers.CHAT;
import static io.kvasir.answers.TestAnswers.JSON;
import static io.kvasir.answers.TestAnswers.bytes;
import static io.kvasir.answers.TestAnswers.cache;
import static io.kvasir.answers.TestAnswers.chat;
import static io.kvasir.answers.TestAnswers.miss;
import static io.kvasir.answers.TestAnswers.redis;
import static io.kvasir.answers.TestAnswers.request;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What servers answer that a healthy one does not: by a scripted one that holds nothing. */
final class RedisStoreTest {
  private static final AnswerRequest REQUEST = request(CHAT, "{\"seed\":1}");
  private static final String NOTHING = "*2\r\n$-1\r\n$-1\r\n";
  private static final String OUT_OF_MEMORY = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

  private final ServerSocket server;
  private volatile String toMget = NOTHING;
  private volatile String toEval = ":1\r\n";

  RedisStoreTest() throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(this::accept);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = server.accept();
        Thread.ofVirtual().start(() -> serve(client));
      }
    } catch (IOException closed) {
      // The test is over.
    }
  }

  private void serve(Socket client) {
    try (client) {
      BufferedReader in =
          new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.ISO_8859_1));
      for (String count = in.readLine(); count != null; count = in.readLine()) {
        String command = argument(in);
        for (int i = 1; i < Integer.parseInt(count.substring(1)); i++) {
          argument(in);
        }
        String answer = switch (command) {
          case "HELLO" -> "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:2\r\n";
          case "MGET" -> toMget;
          case "EVAL" -> toEval;
          default -> "+OK\r\n";
        };
        client.getOutputStream().write(bytes(answer));
      }
    } catch (IOException closed) {
      // By the store.
    }
  }

  private static String argument(BufferedReader in) throws IOException {
    char[] text = new char[Integer.parseInt(in.readLine().substring(1))];
    for (int read = 0; read < text.length; ) {
      read += in.read(text, read, text.length - read);
    }
    in.readLine();
    return new String(text);
  }

  private AnswerCache open() throws IOException {
    return cache(TestAnswers.settings(redis(server.getLocalPort(), null), 16 << 20, 64 << 20, false, 1));
  }

  @Test
  void serverThatDoesNotKeep_isAProblemUntilItDoes_andIsReadAllTheSame() throws Exception {
    try (AnswerCache cache = open()) {
      Lookup.Miss miss = miss(cache.lookUp(REQUEST));
      toEval = OUT_OF_MEMORY;
      cache.put(miss, JSON, bytes(chat("one")));
      cache.put(miss, JSON, bytes(chat("one")));
      assertThat(cache.problems()).singleElement().asString().contains("OOM").contains("maxmemory-policy");
      assertThat(cache.stats().kept()).isZero();
      assertThat(cache.stats().store().outage()).isEmpty();
      assertThat(cache.lookUp(REQUEST)).isInstanceOf(Lookup.Miss.class);

      toEval = ":1\r\n";
      cache.put(miss, JSON, bytes(chat("one")));
      assertThat(cache.problems()).isEmpty();
      assertThat(cache.stats().kept()).isEqualTo(1);
    }
  }

  @Test
  void answerFromBeforeAFlush_isNoneThatWasKept_andSaysNothingOfTheServer() throws Exception {
    try (AnswerCache cache = open()) {
      Lookup.Miss miss = miss(cache.lookUp(REQUEST));
      toEval = ":0\r\n";
      cache.put(miss, JSON, bytes(chat("one")));
      assertThat(cache.stats().kept()).isZero();
      assertThat(cache.problems()).isEmpty();
    }
  }

  /** As proxies answer in place of one of their servers. */
  @Test
  void errorInPlaceOfAnEntry_isAnOutage_whichEnds() throws Exception {
    try (AnswerCache cache = open()) {
      toMget = "*2\r\n-ERR no server for this key\r\n$-1\r\n";
      assertThat(cache.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      assertThat(cache.problems()).singleElement().asString().contains("away").contains("no server for this key");
      toMget = NOTHING;
      await("the store to be back", () -> cache.problems().isEmpty());
      miss(cache.lookUp(REQUEST));
    }
  }
}
