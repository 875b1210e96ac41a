package io.kvasir.doctor.exam;

import io.kvasir.events.EventFeed;
import io.kvasir.events.FeedTrial;
import io.kvasir.events.KvEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Listens to a feed by its own trial, on a thread of its own. Thread-safe; closing it ends the thread. */
final class FeedListener implements RankListener {
  private static final Duration POLL = Duration.ofMillis(50);
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final EventFeed feed;
  private final int rank;
  private final FeedTrial trial;
  private final EventRecorder recorder;
  private final CountDownLatch begun = new CountDownLatch(1);
  private final Thread thread;
  private volatile boolean closing;
  private volatile @Nullable String failure;
  private volatile long kept = -1;

  /** Begins; each event that can be decoded goes to {@code onEvent}, on the listener's thread. */
  FeedListener(EventFeed feed, int rank, FeedTrial trial, Consumer<KvEvent> onEvent) {
    this.feed = feed;
    this.rank = rank;
    this.trial = trial;
    this.recorder = new EventRecorder(onEvent);
    this.thread = Thread.ofVirtual().name("kvasir-doctor-feed").start(this::listen);
  }

  @Override
  public boolean awaitConnected(Duration timeout) throws InterruptedException {
    return begun.await(timeout.toNanos(), TimeUnit.NANOSECONDS) && failure == null;
  }

  @Override
  public EventsSeen seen() {
    return recorder.seen();
  }

  /** What was found so far. */
  FeedExam exam() {
    String why = begun.getCount() > 0 ? "nothing came back in time" : failure;
    return new FeedExam(feed.kind(), rank, trial.place(), why, kept, seen());
  }

  private void listen() {
    try {
      kept = trial.begin();
      begun.countDown();
      while (!closing) {
        trial.next(POLL).forEach(message -> recorder.record(null, message));
      }
    } catch (IOException failed) {
      failure = String.valueOf(failed.getMessage());
    } catch (InterruptedException stopped) {
      failure = "interrupted";
    } finally {
      begun.countDown();
    }
  }

  @Override
  public void close() {
    closing = true;
    try {
      if (!thread.join(CLOSING)) {
        thread.interrupt();
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
    trial.close();
  }
}
