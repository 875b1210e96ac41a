package io.kvasir.app;

import io.kvasir.sim.Condition;
import io.kvasir.sim.Fault;
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

/**
 * Brings trouble to engines at random, so that of each role one is always left in peace, and heals them when it is
 * closed. One thread of its own.
 */
final class ChaosMonkey implements AutoCloseable {
  /** What befalls single requests of an engine that lives. */
  private static final List<String> FAULTS =
      List.of("500", "503", "429", "reset", "hang", "hang-after-head", "hang-midway", "cut", "no-end", "slow",
          "stream-error");

  private final ChaosFleet fleet;
  private final ChaosTrouble trouble;
  private final Random random;
  private final HttpClient http = HttpClient.newHttpClient();
  private final Set<ChaosFleet.Member> inTrouble = new HashSet<>();
  private final List<Thread> acts = new ArrayList<>();
  private final Thread thread;
  private volatile boolean stopped;

  ChaosMonkey(ChaosFleet fleet, ChaosTrouble trouble, long seed) {
    this.fleet = fleet;
    this.trouble = trouble;
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
      if (mayTrouble(member)) {
        Act act = act(member);
        int millis = 200 + random.nextInt(1500);
        acts.removeIf(done -> !done.isAlive());
        acts.add(Thread.ofVirtual().start(() -> carryOut(act, member, millis)));
      }
      pause(100 + random.nextInt(250));
    }
  }

  private synchronized boolean mayTrouble(ChaosFleet.Member member) {
    long well =
        fleet.members().stream()
            .filter(other -> other.role() == member.role() && !inTrouble.contains(other))
            .count();
    return well > 1 && inTrouble.add(member);
  }

  /** Trouble: how it begins and how it ends. */
  private record Act(String name, Step begin, Step end) {}

  /** Something done to an engine. */
  private interface Step {
    void now() throws IOException;
  }

  private Act act(ChaosFleet.Member member) {
    return switch (random.nextInt(10)) {
      case 0, 1, 2 -> new Act("crash", member.engine()::crash, member.engine()::restart);
      case 3 -> condition(member, Condition.WEDGE);
      case 4 -> condition(member, Condition.REFUSE);
      case 5 -> condition(member, random.nextBoolean() ? Condition.SLOW : Condition.DRAIN);
      case 6 -> new Act("pod drained", () -> admin("POST", member, "/drain"), () -> replace(member));
      case 7 -> new Act("pod removed", () -> admin("DELETE", member, ""), () -> replace(member));
      default -> {
        String fault = FAULTS.get(random.nextInt(FAULTS.size()));
        yield new Act(
            fault,
            () -> member.engine().setFaults(List.of(Fault.parse(fault + "=0.4"))),
            () -> member.engine().setFaults(List.of()));
      }
    };
  }

  private static Act condition(ChaosFleet.Member member, Condition condition) {
    return new Act(
        condition.toString(), () -> member.engine().set(condition, true), () -> member.engine().set(condition, false));
  }

  private void carryOut(Act act, ChaosFleet.Member member, int millis) {
    ChaosTrouble.Spell spell = trouble.begin(member.name(), act.name());
    try {
      act.begin().now();
      pause(millis);
      act.end().now();
    } catch (IOException e) {
      System.err.println("\nchaos: " + act.name() + " of " + member.name() + " went wrong: " + e);
    } finally {
      spell.end();
      synchronized (this) {
        inTrouble.remove(member);
      }
    }
  }

  /** Removes the pod if it is there, and adds it anew. */
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
      // told to stop, or to go on at once
    }
  }
}
