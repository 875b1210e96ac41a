package io.kvasir.load;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A router and simulated engines, each a process of its own on loopback, started by the launcher as an
 * operator would. Closing it stops them all.
 */
final class ProcessFleet implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final Path launcher;
  private final Path work;
  private final List<String> simFlags;
  private final List<Engine> engines = new ArrayList<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final int gatewayPort = Ports.free();
  private final int managementPort = Ports.free();
  private Process router;

  /** A simulated engine's process and where it listens. */
  private record Engine(Process process, int port, int events, int replay) {}

  /**
   * Starts engines and a router and waits until the router has all of them.
   *
   * @param work where logs and the configuration go
   * @param profile the router's default profile
   * @param simFlags for each engine, beside its ports
   */
  ProcessFleet(Path launcher, Path work, int engineCount, String profile, List<String> simFlags)
      throws IOException, InterruptedException {
    this.launcher = launcher;
    this.work = Files.createDirectories(work);
    this.simFlags = simFlags;
    for (int i = 0; i < engineCount; i++) {
      engines.add(start(i, Ports.free(), Ports.free(), Ports.free()));
    }
    Path config = work.resolve("kvasir.conf");
    Files.writeString(config, config(profile));
    router =
        launch("router", List.of("serve", "--config", config.toString()));
    await("the router to have " + engineCount + " healthy workers", () -> healthyWorkers() == engineCount);
  }

  URI gateway() {
    return URI.create("http://127.0.0.1:" + gatewayPort);
  }

  URI management() {
    return URI.create("http://127.0.0.1:" + managementPort);
  }

  long routerPid() {
    return router.pid();
  }

  boolean routerAlive() {
    return router.isAlive();
  }

  /** Kills an engine as a crash would. */
  void kill(int engine) throws InterruptedException {
    Process process = engines.get(engine).process();
    process.destroyForcibly();
    process.waitFor();
  }

  /** Starts a killed engine again on its ports, empty. */
  void restart(int engine) throws IOException {
    Engine old = engines.get(engine);
    engines.set(engine, start(engine, old.port(), old.events(), old.replay()));
  }

  /** Healthy workers as {@code /admin/workers} reports. */
  int healthyWorkers() {
    return get(management().resolve("/admin/workers")).split("\"HEALTHY\"|\"healthy\"", -1).length - 1;
  }

  /** The body of a GET, empty when there is no answer. */
  String get(URI uri) {
    try {
      return http.send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(5)).build(), BodyHandlers.ofString())
          .body();
    } catch (IOException notYet) {
      return "";
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  @Override
  public void close() {
    List<Process> all = new ArrayList<>(engines.stream().map(Engine::process).toList());
    all.add(router);
    all.forEach(Process::destroy);
    try {
      for (Process process : all) {
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      }
    } catch (InterruptedException interrupted) {
      all.forEach(Process::destroyForcibly);
      Thread.currentThread().interrupt();
    }
    http.close();
  }

  private Engine start(int number, int port, int events, int replay) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                "sim",
                "--port", String.valueOf(port),
                "--events-port", String.valueOf(events),
                "--replay-port", String.valueOf(replay)));
    command.addAll(simFlags);
    return new Engine(launch("engine-" + number, command), port, events, replay);
  }

  private Process launch(String name, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(launcher.toString()));
    command.addAll(arguments);
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(work.resolve(name + ".log").toFile()))
        .start();
  }

  private String config(String profile) {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < engines.size(); i++) {
      Engine engine = engines.get(i);
      pods.append(
          """
              { name = "engine-%d", url = "http://127.0.0.1:%d", models = ["kvasir-demo"],
                events { endpoint = "tcp://127.0.0.1:%d", replay = "tcp://127.0.0.1:%d" } }
          """
              .formatted(i, engine.port(), engine.events(), engine.replay()));
    }
    return """
        kvasir {
          gateway { host = "127.0.0.1", port = %d }
          access.open-routing-details = true
          management.port = %d
          routing.profile = "%s"
          models = [{ name = "kvasir-demo", directory = "bundled:kvasir-demo", block-size = 16 }]
          pod-defaults.engine = "h100-Qwen2.5-7B-tp1"
          pods = [
        %s  ]
        }
        """
        .formatted(gatewayPort, managementPort, profile, pods);
  }

  private void await(String what, BooleanSupplier condition) throws InterruptedException {
    Instant deadline = Instant.now().plus(TIMEOUT);
    while (!condition.getAsBoolean()) {
      if (Instant.now().isAfter(deadline) || !router.isAlive()) {
        close();
        throw new IllegalStateException("gave up waiting for " + what + "; logs are in " + work);
      }
      Thread.sleep(100);
    }
  }
}
