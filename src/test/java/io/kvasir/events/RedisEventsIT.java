package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.XAddParams;

/** Against a real redis-server. */
final class RedisEventsIT extends SourceConformance {
  private static final String KEY = "kvasir:events:pod:0";

  @TempDir private Path directory = Path.of("");

  private TestServer server;

  private Jedis publisher;

  private boolean numbered = true;

  @BeforeEach
  void startServer() throws IOException {
    server = open(TestServer.redis(directory, false));
    publisher = connect();
  }

  @Override
  EventSource source() {
    URI url = URI.create("redis://127.0.0.1:" + server.port());
    return open(new EventFeed.Redis(url, "kvasir:events:{pod}:{rank}"), 0, 1);
  }

  @Override
  void publish(long number, byte[] payload) {
    if (numbered) {
      publisher.sendCommand(
          Command.XADD, bytes(KEY), bytes("*"), bytes("seq"), bytes(Long.toString(number)), bytes("batch"), payload);
    } else {
      publisher.sendCommand(Command.XADD, bytes(KEY), bytes("*"), bytes("batch"), payload);
    }
  }

  @AfterEach
  void closePublisher() {
    publisher.close();
  }

  @Test
  void history_isReadFromItsBeginning_byWhoComesLater() {
    for (int i = 0; i < 1000; i++) {
      publish(i);
    }
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "0", "ok");
    assertThat(stream.numbersTo(999)).hasSize(999);
  }

  @Test
  void withoutNumbers_entriesCountByTheirPlace_andWhatWasTrimmedUnreadIsAGap() {
    numbered = false;
    for (int i = 0; i < 10; i++) {
      publish(i);
    }
    publisher.xtrim(KEY, 4, false);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "lost0-5", "6", "7", "8", "9");
    publish(10);
    publish(11);
    stream.expect("10", "11");
  }

  @Test
  void aKilledServer_isReachedAgain_andNothingIsMissing() throws IOException {
    numbered = false;
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(1);
    stream.expect("0", "1");
    server.kill();
    stream.expect("down");
    server.restart();
    publisher = connect();
    publish(2);
    stream.expect("up", "2");
    assertThat(metric("kvasir_events_reconnects")).isEqualTo(1);
  }

  @Test
  void whatIsTrimmedWhileNobodyReads_isAGap() throws IOException {
    numbered = false;
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    stream.expect("0");
    server.kill();
    stream.expect("down");
    server.restart();
    publisher = connect();
    // In one transaction, so that the stream cannot read between.
    try (var together = publisher.multi()) {
      for (int i = 1; i < 6; i++) {
        together.sendCommand(
            Command.XADD, bytes(KEY), bytes("*"), bytes("batch"), TestBatches.msgpack(i, 0, 0));
      }
      together.xtrim(KEY, 2, false);
      together.exec();
    }
    assertThat(stream.takeUntil("5")).contains("lost1-3", "4");
  }

  @Test
  void aServerThatForgot_isAStreamThatBeganAnew() throws IOException {
    numbered = false;
    try (TestServer forgetful = TestServer.redis(directory, true)) {
      server = forgetful;
      publisher.close();
      publisher = connect();
      TestStream stream = subscribe();
      begun(stream);
      publish(0);
      publish(1);
      stream.expect("0", "1");
      forgetful.restart();
      publisher = connect();
      publish(0, TestBatches.msgpack(0, 1, 0));
      assertThat(stream.takeUntil("0")).contains("down", "up", "restart");
      publish(1, TestBatches.msgpack(1, 1, 0));
      stream.expect("1");
    }
  }

  @Test
  void anEntryWithoutABatch_isCounted_andLost() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publisher.xadd(KEY, new XAddParams(), Map.of("something", "else"));
    publish(1);
    stream.expect("0", "1");
    assertThat(metric("kvasir_events_misframed")).isEqualTo(1);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  /** Connects once the server has read what it kept: until then it listens, but answers LOADING. */
  private Jedis connect() {
    Jedis client = new Jedis("127.0.0.1", server.port());
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      try {
        assertThat(client.ping()).isEqualTo("PONG");
        return client;
      } catch (JedisDataException loading) {
        if (System.nanoTime() > deadline) {
          throw loading;
        }
      }
    }
  }
}
