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
import static io.kvasir.answers.TestAnswers.requestOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.answers.AnswerSettings.StoreSettings;
import io.kvasir.events.TestServer;
import io.kvasir.http.TestTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Against a real redis-server. */
final class RedisAnswersIT {
  private static final AnswerRequest REQUEST = request(CHAT, "{\"seed\":1}");

  @TempDir private Path directory = Path.of("");

  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.redis(directory, true);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void answers_areSharedByTheNodesThatNameTheServer_andExpire() throws Exception {
    try (AnswerCache one = open(null);
        AnswerCache other = open(null);
        Jedis server = client()) {
      one.put(miss(one.lookUp(REQUEST)), "text/event-stream; charset=utf-8", bytes(STREAM));
      assertThat(other.lookUp(REQUEST))
          .isInstanceOfSatisfying(Lookup.Hit.class, hit -> {
            assertThat(hit.answer().body()).isEqualTo(bytes(STREAM));
            assertThat(hit.answer().contentType()).isEqualTo("text/event-stream; charset=utf-8");
            assertThat(hit.ageSeconds()).isLessThan(60);
          });
      List<String> keys = List.copyOf(server.keys("test:answers:*:*:*"));
      assertThat(keys).hasSize(1);
      assertThat(server.pttl(keys.get(0))).isBetween(3_500_000L, 3_600_000L);
    }
  }

  private static final String STREAM = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

  @Test
  void aKilledServer_isPassedByAtOnce_andUsedAgainWhenItIsBack() throws Exception {
    try (AnswerCache cache = open(null)) {
      cache.put(miss(cache.lookUp(REQUEST)), JSON, bytes(chat("one")));
      assertThat(cache.lookUp(REQUEST)).isInstanceOf(Lookup.Hit.class);
      Lookup.Miss underWay = miss(cache.lookUp(request(CHAT, "{\"seed\":2}")));
      server.kill();

      assertThat(cache.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      assertThat(cache.problems()).singleElement().asString().contains("redis://127.0.0.1:" + server.port());
      assertThat(cache.stats().store().outage()).isPresent();
      cache.put(underWay, JSON, bytes(chat("two")));
      for (int i = 0; i < 10_000; i++) {
        assertThat(cache.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      }
      assertThatThrownBy(() -> cache.flush(null, null)).isInstanceOf(StoreUnavailableException.class);

      server.restart();
      await("the store to be back", () -> cache.problems().isEmpty());
      cache.put(miss(cache.lookUp(REQUEST)), JSON, bytes(chat("three")));
      assertThat(cache.lookUp(REQUEST))
          .isInstanceOfSatisfying(
              Lookup.Hit.class, hit -> assertThat(hit.answer().body()).isEqualTo(bytes(chat("three"))));
    }
  }

  @Test
  void aRestartBetweenTwoRequests_isNotNoticed() throws Exception {
    try (AnswerCache cache = open(null)) {
      miss(cache.lookUp(REQUEST));
      server.restart();
      miss(cache.lookUp(REQUEST));
      assertThat(cache.problems()).isEmpty();
    }
  }

  @Test
  void aServerThatIsNotThereYet_isUsedOnceItIs() throws Exception {
    server.kill();
    try (AnswerCache cache = open(null)) {
      assertThat(cache.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      server.restart();
      await("the store to be there", () -> cache.problems().isEmpty());
      miss(cache.lookUp(REQUEST));
    }
  }

  @Test
  void tenMegabytes_areKept() throws Exception {
    String body = chat("x".repeat(10 << 20));
    try (AnswerCache cache = open(null)) {
      cache.put(miss(cache.lookUp(REQUEST)), JSON, bytes(body));
      assertThat(cache.lookUp(REQUEST))
          .isInstanceOfSatisfying(Lookup.Hit.class, hit -> assertThat(hit.answer().body()).isEqualTo(bytes(body)));
    }
  }

  @Test
  void randomRequestsOfManyTenants_neverMeet() throws Exception {
    Random random = new Random(11);
    List<String> tenants = List.of("", "a", "b", "*", "a:b", "key-1", "key-11");
    try (AnswerCache cache = open(null)) {
      int hits = 0;
      for (int i = 0; i < 2000; i++) {
        String tenant = tenants.get(random.nextInt(tenants.size()));
        String body = "{\"seed\":" + random.nextInt(20) + "}";
        String own = chat(tenant + " asked " + body.replace("\"", ""));
        switch (cache.lookUp(requestOf(tenant, CHAT, body))) {
          case Lookup.Hit hit -> {
            hits++;
            assertThat(hit.answer().body()).isEqualTo(bytes(own));
          }
          case Lookup.Miss miss -> cache.put(miss, JSON, bytes(own));
          case Lookup.Bypassed passed -> throw new AssertionError(passed);
        }
      }
      assertThat(hits).isGreaterThan(1000);
    }
  }

  @Test
  void flush_meansWhatIsNamed_andWhatIsOnItsWayAtAnyNode() throws Exception {
    try (AnswerCache one = open(null);
        AnswerCache other = open(null)) {
      for (String tenant : List.of("*", "a", "b")) {
        for (int i = 0; i < 1500; i++) {
          one.put(miss(one.lookUp(requestOf(tenant, CHAT, "{\"seed\":" + i + "}"))), JSON, bytes(chat("x")));
        }
      }
      Lookup.Miss onItsWay = miss(other.lookUp(requestOf("a", CHAT, "{\"seed\":-1}")));
      assertThat(one.flush("*", null)).hasValue(1500);
      assertThat(one.flush("a", "n")).hasValue(0);
      assertThat(one.flush("a", "m")).hasValue(1500);
      assertThat(one.lookUp(requestOf("b", CHAT, "{\"seed\":7}"))).isInstanceOf(Lookup.Hit.class);
      other.put(onItsWay, JSON, bytes(chat("from before")));
      miss(one.lookUp(requestOf("a", CHAT, "{\"seed\":-1}")));
      assertThat(one.flush(null, null)).hasValue(1500);
    }
  }

  @Test
  void whatIsNotOurs_orOfAnotherRequest_isAMiss() throws Exception {
    try (AnswerCache cache = open(null);
        Jedis server = client()) {
      cache.put(miss(cache.lookUp(REQUEST)), JSON, bytes(chat("one")));
      String key = List.copyOf(server.keys("test:answers:*:*:*")).get(0);
      AnswerKey other = miss(cache.lookUp(request(CHAT, "{\"seed\":2}"))).key();
      byte[] stranger = new StoredAnswer(JSON, bytes(chat("not yours")), Instant.now()).encoded(other);
      for (byte[] entry : List.of(stranger, new byte[0], new byte[] {1}, bytes("\u0001 something else entirely"))) {
        server.set(bytes(key), entry);
        miss(cache.lookUp(REQUEST));
      }
    }
  }

  @Test
  void password_isNeeded() throws Exception {
    try (Jedis admin = client()) {
      admin.configSet("requirepass", "secret");
    }
    try (AnswerCache without = open(null);
        AnswerCache with = open("secret")) {
      assertThat(without.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      miss(with.lookUp(REQUEST));
    }
  }

  @Test
  void tls_trustsWhomItIsToldTo_only() throws Exception {
    TestTls tls = TestTls.forHost("localhost");
    try (SSLServerSocket front =
        (SSLServerSocket)
            tls.context().getServerSocketFactory().createServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> forward(front));
      Path authorities = Files.writeString(directory.resolve("ca.pem"), pem(tls, front.getLocalPort()));
      String address = "rediss://localhost:" + front.getLocalPort();
      try (AnswerCache trusting = secure(address, authorities);
          AnswerCache wary = secure(address, null);
          AnswerCache elsewhere = secure("rediss://127.0.0.1:" + front.getLocalPort(), authorities)) {
        trusting.put(miss(trusting.lookUp(REQUEST)), JSON, bytes(chat("one")));
        assertThat(trusting.lookUp(REQUEST)).isInstanceOf(Lookup.Hit.class);
        assertThat(wary.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
        assertThat(elsewhere.lookUp(REQUEST)).isEqualTo(new Lookup.Bypassed(Bypass.STORE_AWAY));
      }
    }
  }

  private static AnswerCache secure(String url, @Nullable Path authorities) throws IOException {
    return cache(
        TestAnswers.settings(
            new StoreSettings.Redis(
                URI.create(url), null, authorities, "tls", Duration.ofSeconds(5), Duration.ofSeconds(5), 2,
                Duration.ofMillis(20)),
            1 << 20, 1 << 20, false, 1));
  }

  /** The certificate a server shows, as a file has it. */
  private static String pem(TestTls tls, int port) throws Exception {
    try (SSLSocket socket = (SSLSocket) tls.context().getSocketFactory().createSocket("localhost", port)) {
      socket.startHandshake();
      Certificate shown = socket.getSession().getPeerCertificates()[0];
      return "-----BEGIN CERTIFICATE-----\n"
          + Base64.getMimeEncoder().encodeToString(shown.getEncoded())
          + "\n-----END CERTIFICATE-----\n";
    }
  }

  /** TLS in front of the server. */
  private void forward(SSLServerSocket front) {
    while (true) {
      try {
        Socket outside = front.accept();
        Socket inside = new Socket(InetAddress.getLoopbackAddress(), server.port());
        Thread.ofVirtual().start(() -> copy(outside, inside));
        Thread.ofVirtual().start(() -> copy(inside, outside));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private static void copy(Socket from, Socket to) {
    try (from;
        to) {
      byte[] buffer = new byte[8192];
      for (int read = from.getInputStream().read(buffer); read >= 0; read = from.getInputStream().read(buffer)) {
        to.getOutputStream().write(buffer, 0, read);
      }
    } catch (IOException ended) {
      // By the other side, or for want of trust.
    }
  }

  private AnswerCache open(@Nullable String password) throws IOException {
    return cache(TestAnswers.settings(redis(server.port(), password), 16 << 20, 64 << 20, false, 1));
  }

  private Jedis client() {
    return new Jedis("127.0.0.1", server.port());
  }
}
