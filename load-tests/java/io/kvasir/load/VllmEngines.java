package io.kvasir.load;

import io.kvasir.app.terminal.ProgressBar;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Real engines on the loopback interface: vLLM on CPUs, with a {@link WordModel}. What it answers is nonsense, what it
 * caches and says of that is not. Closing it ends the processes.
 */
final class VllmEngines implements TruthFleet {
  /** What vLLM's attention on CPUs takes. */
  private static final int BLOCK_SIZE = 32;

  private static final int BLOCKS = 2048;
  /** One that has been started before is there within 20 s; the first compiles some thousand files of Python. */
  private static final Duration STARTUP = Duration.ofMinutes(20);

  private static final int PAUSE_MILLIS = 500;

  /** No download, no report of use, and a core each. */
  private static final List<String> ENVIRONMENT =
      List.of(
          "env", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1",
          "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "OMP_NUM_THREADS=1");

  private final List<ChildProcess> processes = new ArrayList<>();
  private final List<EngineAddress> addresses = new ArrayList<>();

  /**
   * Starts engines and waits until all of them answer.
   *
   * @param command the program {@code vllm}
   * @param slidingWindow of the {@link WordModel}
   * @throws IOException when one does not come up; its log is named
   */
  static VllmEngines start(Path command, int count, int slidingWindow, HttpClient http)
      throws IOException, InterruptedException {
    VllmEngines engines = new VllmEngines();
    try {
      Path work = Files.createTempDirectory("kvasir-vllm-");
      Path model = WordModel.write(work.resolve(WordModel.NAME), slidingWindow);
      for (int i = 0; i < count; i++) {
        engines.launch(command, model, work.resolve("engine-" + i + ".log"));
      }
      engines.awaitHealthy(http, work);
      return engines;
    } catch (IOException | InterruptedException e) {
      engines.close();
      throw e;
    }
  }

  private VllmEngines() {}

  @Override
  public List<EngineAddress> addresses() {
    return addresses;
  }

  @Override
  public void close() {
    processes.forEach(ChildProcess::close);
  }

  private void launch(Path command, Path model, Path log) throws IOException {
    int port = Ports.free();
    String events = "tcp://127.0.0.1:" + Ports.free();
    String replay = "tcp://127.0.0.1:" + Ports.free();
    List<String> words = new ArrayList<>(ENVIRONMENT);
    words.addAll(
        List.of(
            command.toString(), "serve", model.toString(),
            "--served-model-name", WordModel.NAME,
            "--host", "127.0.0.1",
            "--port", String.valueOf(port),
            "--dtype", "float32",
            "--enforce-eager",
            "--max-model-len", String.valueOf(WordModel.MAX_LENGTH),
            "--max-num-seqs", "64",
            "--block-size", String.valueOf(BLOCK_SIZE),
            "--num-gpu-blocks-override", String.valueOf(BLOCKS),
            "--enable-prefix-caching",
            "--enable-prompt-tokens-details",
            "--kv-events-config",
            eventsConfig(events, replay)));
    String name = "vLLM at port " + port;
    ChildProcess process = ChildProcess.quiet(name, log, words);
    processes.add(process);
    addresses.add(
        new EngineAddress(URI.create("http://127.0.0.1:" + port), events, replay, true, "both", null));
    System.err.printf("%s, process %d: events at %s, replay at %s, log %s%n", name, process.pid(), events, replay, log);
  }

  private static String eventsConfig(String events, String replay) {
    return """
        {"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "%s", "replay_endpoint": "%s"}"""
        .formatted(bound(events), bound(replay));
  }

  /** vLLM binds where the address is a wildcard, and connects elsewhere. */
  private static String bound(String endpoint) {
    return endpoint.replace("127.0.0.1", "*");
  }

  private void awaitHealthy(HttpClient http, Path logs) throws IOException, InterruptedException {
    long from = System.nanoTime();
    int well = 0;
    try (ProgressBar progress = new ProgressBar("vLLM starts")) {
      while (well < addresses.size()) {
        if (isHealthy(http, addresses.get(well).url())) {
          well++;
        } else if (System.nanoTime() - from > STARTUP.toNanos() || !processes.get(well).isAlive()) {
          throw new IOException(processes.get(well).name() + " does not come up; its log is in " + logs);
        } else {
          Thread.sleep(PAUSE_MILLIS);
        }
        double seconds = (System.nanoTime() - from) / 1e9;
        progress.draw((double) well / addresses.size(), "%d ready, %.0f s".formatted(well, seconds));
      }
    }
  }

  private static boolean isHealthy(HttpClient http, URI engine) throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(engine.resolve("/health")).timeout(Duration.ofSeconds(5)).build();
    try {
      return http.send(request, BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }
}
