package io.kvasir.load;

import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Brings trouble to engines at random, so that of each role one is always left in peace, and heals them when it is
 * closed. One thread of its own.
 */
final class ChaosMonkey implements AutoCloseable {
  private static final int MOST_TRIES = 200;
  private static final int BETWEEN_TRIES_MILLIS = 200;

  /** What befalls single requests of an engine that lives. */
  private static final List<String> FAULTS =
      List.of("500", "503", "429", "reset", "hang", "hang-after-head", "hang-midway", "cut", "no-end", "slow",
          "stream-error");

  private final ChaosFleet fleet;
  private final ChaosFaultLog faultLog;
  private final Random random;
  private final HttpClient http = HttpClient.newHttpClient();
  private final Set<ChaosFleet.Member> disturbed = new HashSet<>();
  private final List<Thread> acts = new ArrayList<>();
  private final Thread thread;
  private volatile boolean stopped;

  ChaosMonkey(ChaosFleet fleet, ChaosFaultLog trouble, long seed) {
    this.fleet = fleet;
    this.faultLog = trouble;
    this.random = new Random(seed);
    this.thread = Thread.ofPlatform().daemon().name("chaos-monkey").start(this::run);
  }

  /** Brings no more trouble, waits until what began is over, and leaves every engine well. */
  @Override
  public void close() {
    stopped = true;
    thread.interrupt();
    try {
      thread.join();
      for (Thread act : acts) {
        act.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    http.close();
  }

  private void run() {
    while (!stopped) {
      ChaosFleet.Member member = fleet.members().get(random.nextInt(fleet.members().size()));
      if (mayDisturb(member)) {
        Disturbance act = act(member);
        int millis = 200 + random.nextInt(1500);
        acts.removeIf(done -> !done.isAlive());
        acts.add(Thread.ofVirtual().start(() -> execute(act, member, millis)));
      }
      pause(100 + random.nextInt(250));
    }
  }

  private synchronized boolean mayDisturb(ChaosFleet.Member member) {
    long well =
        fleet.members().stream()
            .filter(other -> other.role() == member.role() && !disturbed.contains(other))
            .count();
    return well > 1 && disturbed.add(member);
  }

  /** Trouble: how it begins and how it ends. */
  private record Disturbance(String name, FailableAction begin, FailableAction end) {}

  /** Something done to an engine. */
  private interface FailableAction {
    void run() throws IOException;
  }

  private Disturbance act(ChaosFleet.Member member) {
    return switch (random.nextInt(10)) {
      case 0, 1, 2 -> new Disturbance("crash", member.engine()::crash, member.engine()::restart);
      case 3 -> condition(member, EngineCondition.WEDGE);
      case 4 -> condition(member, EngineCondition.REFUSE);
      case 5 -> condition(member, random.nextBoolean() ? EngineCondition.SLOW : EngineCondition.DRAIN);
      case 6 -> new Disturbance("pod drained", () -> admin("POST", member, "/drain"), () -> replace(member));
      case 7 -> new Disturbance("pod removed", () -> admin("DELETE", member, ""), () -> replace(member));
      default -> {
        String fault = FAULTS.get(random.nextInt(FAULTS.size()));
        yield new Disturbance(
            fault,
            () -> member.engine().setFaults(List.of(InjectedFault.parse(fault + "=0.4"))),
            () -> member.engine().setFaults(List.of()));
      }
    };
  }

  private static Disturbance condition(ChaosFleet.Member member, EngineCondition condition) {
    return new Disturbance(
        condition.toString(), () -> member.engine().setCondition(condition, true),
        () -> member.engine().setCondition(condition, false));
  }

  private void execute(Disturbance act, ChaosFleet.Member member, int millis) {
    ChaosFaultLog.FaultWindow spell = faultLog.begin(member.name(), act.name());
    try {
      act.begin().run();
      pause(millis);
      end(act);
    } catch (IOException e) {
      System.err.println("\nchaos: " + act.name() + " of " + member.name() + " went wrong: " + e);
    } finally {
      spell.end();
      synchronized (this) {
        disturbed.remove(member);
      }
    }
  }

  /** Another process may have got a port of an engine that is to start again, for a while. */
  private void end(Disturbance act) throws IOException {
    for (int tries = 1; ; tries++) {
      try {
        act.end().run();
        return;
      } catch (IOException taken) {
        if (tries == MOST_TRIES) {
          throw taken;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(BETWEEN_TRIES_MILLIS));
      }
    }
  }

  /** Removes the pod if it is there, and adds it again. */
  private void replace(ChaosFleet.Member member) throws IOException {
    admin("DELETE", member, "");
    HttpResponse<String> added =
        send("POST", fleet.management().resolve("/admin/workers"), ChaosFleet.podForAdmin(member));
    if (added.statusCode() != 201) {
      throw new IOException("adding the pod again came to " + added.statusCode() + " " + added.body());
    }
  }

  private void admin(String method, ChaosFleet.Member member, String what) throws IOException {
    send(method, fleet.management().resolve("/admin/workers/" + member.name() + what), "");
  }

  private HttpResponse<String> send(String method, URI uri, String body) throws IOException {
    try {
      return http.send(
          HttpRequest.newBuilder(uri).method(method, HttpRequest.BodyPublishers.ofString(body)).build(),
          HttpResponse.BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  private void pause(int millis) {
    try {
      TimeUnit.MILLISECONDS.sleep(millis);
    } catch (InterruptedException e) {
      // interrupted to stop or to go on at once
    }
  }
}
