package io.kvasir.events;

import io.kvasir.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQ.Socket;
import org.zeromq.ZMQException;

/**
 * Publishes as vLLM does: {@code topic, number, payload} on a PUB, and on a ROUTER the last {@code bufferSteps}
 * of them again for a request of an empty frame and a number. One thread does both, as there. Message n removes
 * the block with key n. An XPUB instead of the PUB shows when a subscriber has connected.
 */
final class FakePublisher implements AutoCloseable {
  private static final byte[] EMPTY = new byte[0];

  private final ZContext context = new ZContext(1);
  private final LinkedBlockingQueue<Runnable> work = new LinkedBlockingQueue<>();
  private final TreeMap<Long, byte[]> buffer = new TreeMap<>();
  private final Socket pub;
  private final @Nullable Socket router;
  private final String topic;
  private final int bufferSteps;
  private final boolean topicInReplay;
  private final Thread thread;
  private volatile boolean closing;
  private final AtomicInteger subscribers = new AtomicInteger();
  private volatile List<byte[]> snapshot = List.of();
  private final AtomicInteger snapshotRequests = new AtomicInteger();
  private volatile long snapshotNanos;
  private volatile LongPredicate replayed = _ -> true;
  private volatile boolean endMark = true;
  private volatile int blockBytes;
  private volatile byte @Nullable [] name;
  private long sequence;

  /** A publisher that binds both endpoints, or dials the first when {@code dial}. */
  FakePublisher(
      String endpoint, @Nullable String replay, String topic, int bufferSteps, boolean topicInReplay, boolean dial) {
    this(endpoint, replay, topic, bufferSteps, topicInReplay, dial, 0);
  }

  /** One that has published so many messages before anybody could listen. */
  FakePublisher(
      String endpoint,
      @Nullable String replay,
      String topic,
      int bufferSteps,
      boolean topicInReplay,
      boolean dial,
      int unheard) {
    this.topic = topic;
    this.bufferSteps = bufferSteps;
    this.topicInReplay = topicInReplay;
    for (; sequence < unheard; sequence++) {
      keep(payload(sequence));
    }
    pub = context.createSocket(SocketType.XPUB);
    pub.setLinger(0);
    pub.setXpubVerbose(true);
    if (dial) {
      pub.setReconnectIVL(50);
      pub.setHandshakeIvl(500);
      pub.connect(endpoint);
    } else {
      bind(pub, endpoint);
    }
    if (replay == null) {
      router = null;
    } else {
      router = context.createSocket(SocketType.ROUTER);
      router.setLinger(0);
      bind(router, replay);
    }
    thread = Thread.ofPlatform().daemon().start(this::run);
  }

  /** A port taken over from a publisher that has just been closed may need a moment. */
  private static void bind(Socket socket, String endpoint) {
    Await.await("the port of " + endpoint + " is free", () -> {
      try {
        return socket.bind(endpoint);
      } catch (ZMQException taken) {
        return false;
      }
    });
  }

  /** Publishes the next messages; returns the last number. */
  long publish(int count) {
    return publish(count, _ -> true);
  }

  /** Publishes the next messages, sending only some of them live. */
  long publish(int count, LongPredicate sent) {
    return call(
        () -> {
          for (int i = 0; i < count; i++) {
            byte[] payload = payload(sequence);
            keep(payload);
            if (sent.test(sequence)) {
              send(sequence, payload);
            }
            sequence++;
          }
          return sequence - 1;
        });
  }

  /** Sends the next message cut in the middle; its buffered copy is whole. */
  void publishCut() {
    call(
        () -> {
          byte[] payload = payload(sequence);
          keep(payload);
          send(sequence++, Arrays.copyOf(payload, payload.length / 2));
          return 0L;
        });
  }

  /** Uses up a number and keeps nothing, as an engine does that fails to encode a message. */
  void lose() {
    call(() -> sequence++);
  }

  /** Sends a message again. */
  void repeat(long old) {
    call(
        () -> {
          byte[] payload = buffer.get(old);
          send(old, payload == null ? payload(old) : payload);
          return 0L;
        });
  }

  /** Sends frames that make no event message. */
  void sendRaw(byte[]... frames) {
    call(
        () -> {
          for (int i = 0; i < frames.length; i++) {
            pub.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
          }
          return 0L;
        });
  }

  /** Begins at another number than 0, as some simulators do. */
  void startAt(long first) {
    call(() -> sequence = first);
  }

  /** Which messages replays bring. */
  void replayOnly(LongPredicate which, boolean withEndMark) {
    replayed = which;
    endMark = withEndMark;
  }

  /** From now on answers a request for a snapshot with these payloads, under the number of the next message. */
  void snapshot(byte[]... payloads) {
    snapshot = List.of(payloads);
  }

  /** How long it takes from now on to make a snapshot. */
  void snapshotTakes(Duration time) {
    snapshotNanos = time.toNanos();
  }

  int snapshotRequests() {
    return snapshotRequests.get();
  }

  /** Has every message from now on say who has published it. */
  void name(byte[] publisher) {
    name = publisher;
  }

  /** Makes every message about this much larger. */
  void padTo(int bytes) {
    blockBytes = bytes;
  }

  int subscribers() {
    return subscribers.get();
  }

  @Override
  public void close() {
    closing = true;
    work.add(() -> {});
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    context.close();
  }

  private long call(Callable<Long> task) {
    CompletableFuture<Long> done = new CompletableFuture<>();
    work.add(
        () -> {
          try {
            done.complete(task.call());
          } catch (Exception e) {
            done.completeExceptionally(e);
          }
        });
    return done.orTimeout(60, TimeUnit.SECONDS).join();
  }

  private void run() {
    try {
      while (!closing) {
        Runnable task = work.poll(2, TimeUnit.MILLISECONDS);
        if (task != null) {
          task.run();
        }
        for (byte[] frame = pub.recv(ZMQ.DONTWAIT); frame != null; frame = pub.recv(ZMQ.DONTWAIT)) {
          subscribers.addAndGet(frame.length > 0 && frame[0] == 1 ? 1 : -1);
        }
        if (router != null) {
          serveReplay(router);
        }
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void serveReplay(Socket router) {
    byte[] identity = router.recv(ZMQ.DONTWAIT);
    if (identity == null) {
      return;
    }
    byte[] delimiter = router.recv();
    if (!router.hasReceiveMore() || delimiter.length != 0) {
      return;
    }
    byte[] request = router.recv();
    if (new String(request, StandardCharsets.US_ASCII).equals("snapshot")) {
      snapshotRequests.incrementAndGet();
      LockSupport.parkNanos(snapshotNanos);
      snapshot.forEach(payload -> reply(router, identity, sequence, payload, topic));
    }
    long start = ByteBuffer.wrap(request).getLong();
    buffer
        .tailMap(start)
        .forEach(
            (number, payload) -> {
              if (replayed.test(number)) {
                reply(router, identity, number, payload, topic);
              }
            });
    if (endMark) {
      reply(router, identity, -1, EMPTY, "");
    }
  }

  private void reply(Socket router, byte[] identity, long number, byte[] payload, String topic) {
    router.sendMore(identity);
    router.sendMore(EMPTY);
    if (topicInReplay) {
      router.sendMore(topic);
    }
    router.sendMore(bytes(number));
    router.send(payload);
  }

  private void keep(byte[] payload) {
    buffer.put(sequence, payload);
    while (buffer.size() > bufferSteps) {
      buffer.pollFirstEntry();
    }
  }

  private void send(long number, byte[] payload) {
    pub.sendMore(topic);
    pub.sendMore(bytes(number));
    pub.send(payload);
  }

  private byte[] payload(long number) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      byte[] publisher = name;
      packer.packArrayHeader(publisher == null ? 3 : 4);
      packer.packDouble(System.currentTimeMillis() / 1000.0 + number / 1e5).packArrayHeader(1);
      packer.packMapHeader(blockBytes > 0 ? 4 : 3).packString("type").packString("BlockRemoved");
      packer.packString("block_hashes").packArrayHeader(1).packLong(number);
      packer.packString("medium").packString("GPU");
      if (blockBytes > 0) {
        packer.packString("padding").packBinaryHeader(blockBytes).writePayload(new byte[blockBytes]);
      }
      packer.packInt(0);
      if (publisher != null) {
        packer.packBinaryHeader(publisher.length).writePayload(publisher);
      }
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }
}
