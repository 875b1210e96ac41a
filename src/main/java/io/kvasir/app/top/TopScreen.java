package io.kvasir.app.top;

import io.kvasir.app.admin.AdminClient;
import io.kvasir.app.admin.AdminFailedException;
import io.kvasir.app.terminal.FullScreen;
import io.kvasir.app.terminal.Palette;
import io.kvasir.app.terminal.TerminalSize;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * The loop of {@code kvasir top}: a router's stream is followed, which tells something every second, keys are read
 * meanwhile, and after each a frame is drawn, in the size that the terminal then has. A router that does not answer
 * leaves its last figures on the screen, with the reason.
 */
final class TopScreen {
  private static final Duration BEFORE_NEXT = Duration.ofSeconds(1);

  private final AdminClient client;
  private final FullScreen screen;
  private final Palette palette;
  private final boolean symbols;
  private final BlockingQueue<Happening> happenings = new ArrayBlockingQueue<>(16);

  /** What a new frame is drawn for. */
  private sealed interface Happening {
    record Pressed(TopKey key) implements Happening {}

    record Answered(FleetSnapshot fleet) implements Happening {}

    record Failed(String why) implements Happening {}
  }

  TopScreen(AdminClient client, FullScreen screen, Palette palette, boolean symbols) {
    this.client = client;
    this.screen = screen;
    this.palette = palette;
    this.symbols = symbols;
  }

  /** Shows frames until the key that quits. */
  void run(FleetSnapshot first, TopView initial) throws IOException, InterruptedException {
    // A read from a terminal cannot be interrupted: this thread ends with the process.
    Thread.ofPlatform().daemon().name("kvasir-keys").start(this::readKeys);
    Thread following = Thread.ofVirtual().name("kvasir-top").start(this::follow);
    try {
      FleetSnapshot fleet = first;
      TopView view = initial;
      String trouble = "";
      while (true) {
        TerminalSize size = FullScreen.size();
        TopFrame frame = new TopFrame(size, symbols);
        screen.draw(frame.screen(fleet, view, trouble).stream().map(line -> line.show(palette)).toList());
        switch (happenings.take()) {
          case Happening.Pressed(TopKey.Quit _) -> {
            return;
          }
          case Happening.Pressed(TopKey key) -> view = view.after(key, fleet.workers().size(), frame.page());
          case Happening.Answered(FleetSnapshot answer) -> {
            fleet = answer;
            trouble = "";
          }
          case Happening.Failed(String why) -> trouble = "the figures are old: " + why;
        }
      }
    } finally {
      following.interrupt();
    }
  }

  /** Follows the router's stream, and when that fails another, until it is interrupted. */
  private void follow() {
    try {
      while (true) {
        happenings.put(new Happening.Failed(whyEnded()));
        Thread.sleep(BEFORE_NEXT);
      }
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  private String whyEnded() throws InterruptedException {
    try {
      FleetSnapshot.follow(client, this::show);
      return "the router ended the stream";
    } catch (AdminFailedException failed) {
      return String.valueOf(failed.getMessage());
    }
  }

  /** A screen that is slower than the router misses what is old by then. */
  private void show(FleetSnapshot fleet) {
    happenings.removeIf(Happening.Answered.class::isInstance);
    var _ = happenings.offer(new Happening.Answered(fleet));
  }

  private void readKeys() {
    try {
      TopKey key;
      do {
        key = nextKey();
        happenings.put(new Happening.Pressed(key));
      } while (!(key instanceof TopKey.Quit));
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  private static TopKey nextKey() {
    try {
      return TopKey.read(System.in);
    } catch (IOException gone) {
      return new TopKey.Quit();
    }
  }
}
