package io.kvasir.gateway.admin.watch;

import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.http.ByteSink;
import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.BooleanSupplier;

/**
 * A client that watches topics: what it has still to be sent, which is little, and how it ends. The publisher adds, one
 * thread writes.
 */
final class Watcher {
  /** Rounds that a client may be behind before it is given up. */
  static final int MAX_BEHIND = 4;

  /** The round after which there is none. */
  private static final List<byte[]> END = List.of();

  private final Set<AdminTopic> topics;
  private final Set<AdminTopic> begun = new HashSet<>();
  private final BlockingQueue<List<byte[]>> rounds = new ArrayBlockingQueue<>(MAX_BEHIND + 1);
  private volatile boolean tooSlow;

  Watcher(Collection<AdminTopic> topics) {
    this.topics = Set.copyOf(topics);
  }

  Set<AdminTopic> topics() {
    return topics;
  }

  /** Whether it has yet to be sent a topic whole. For the publisher's thread. */
  boolean begins(AdminTopic topic) {
    return begun.add(topic);
  }

  /** Adds what is new in one round; false when the client has fallen too far behind, which ends it. */
  boolean add(List<byte[]> round) {
    if (rounds.size() >= MAX_BEHIND) {
      tooSlow = true;
      end();
      return false;
    }
    return rounds.offer(round);
  }

  /** Ends its stream after what it has been added, or at once where that was too much. */
  void end() {
    if (tooSlow || !rounds.offer(END)) {
      rounds.clear();
      rounds.add(END);
    }
  }

  /**
   * Writes each round as it comes, until the end.
   *
   * @param allowed asked before each round; false ends the stream
   * @throws IOException when the client takes no more, or was too slow
   */
  void writeTo(ByteSink sink, BooleanSupplier allowed) throws IOException {
    try {
      List<byte[]> round = rounds.take();
      while (!round.isEmpty() && allowed.getAsBoolean()) {
        write(round, sink);
        round = rounds.take();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    if (tooSlow) {
      throw new IOException("the client did not read what it watches");
    }
  }

  /** Writes what waits, and does not wait for more. */
  void writeWaiting(ByteSink sink) throws IOException {
    for (List<byte[]> round = rounds.poll(); round != null; round = rounds.poll()) {
      write(round, sink);
    }
  }

  private static void write(List<byte[]> round, ByteSink sink) throws IOException {
    for (byte[] frame : round) {
      sink.write(frame, 0, frame.length);
    }
  }
}
