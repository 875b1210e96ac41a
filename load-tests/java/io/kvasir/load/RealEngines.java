package io.kvasir.load;

import io.kvasir.app.terminal.ProgressBar;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Real engines on the loopback interface, on CPUs, with a {@link WordModel} or another small one. What they answer is
 * nonsense, what they cache and say of that is not. Closing it ends the processes.
 */
final class RealEngines implements TruthFleet {
  /** What vLLM's attention on CPUs takes. */
  private static final int VLLM_BLOCK_SIZE = 32;

  private static final int SGLANG_PAGE_SIZE = 16;
  private static final int TOKENS = 65_536;
  private static final String MOST_AT_ONCE = "64";
  /** One that has been started before is there within 20 s; the first compiles some thousand files of Python. */
  private static final Duration STARTUP = Duration.ofMinutes(20);

  private static final int PAUSE_MILLIS = 500;

  /** No download, no report of use, a core each, and KV blocks by TCP, which does not wait for a core to spin on. */
  private static final List<String> ENVIRONMENT =
      List.of(
          "env", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1",
          "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "OMP_NUM_THREADS=1",
          "SGLANG_USE_CPU_ENGINE=1", "CUDA_VISIBLE_DEVICES=", "UCX_TLS=tcp");

  /** Where a model is, or is made. */
  @FunctionalInterface
  interface ModelSource {
    /** The model's directory; one that is made is in {@code work}. */
    Path in(Path work) throws IOException;
  }

  /** How an engine of a kind is started. */
  @FunctionalInterface
  private interface Command {
    /** The command for one that serves {@code model} at a port, with these endpoints of events, in JSON. */
    List<String> of(Path model, int port, int blockSize, String events);

    /** The same for one of a pair that hands KV blocks over, a prefill engine or a decode engine. */
    default Command ofPair(boolean prefill) {
      return (model, port, blockSize, events) -> {
        List<String> words = new ArrayList<>(List.of("VLLM_NIXL_SIDE_CHANNEL_PORT=" + Ports.free()));
        words.addAll(of(model, port, blockSize, events));
        words.add("--kv-transfer-config");
        words.add(
            """
            {"kv_connector": "NixlConnector", "kv_role": "%s", "kv_buffer_device": "cpu",\
             "kv_connector_extra_config": {"num_threads": 0}}"""
            .formatted(prefill ? "kv_producer" : "kv_consumer"));
        return words;
      };
    }
  }

  /**
   * Engines of one kind.
   *
   * @param whole those that do both
   * @param pairs of a prefill engine and a decode engine, which are vLLM's and take NIXL
   */
  record Count(int whole, int pairs) {}

  private final String kind;
  private final List<ChildProcess> processes = new ArrayList<>();
  private final List<EngineAddress> addresses = new ArrayList<>();

  /**
   * Starts engines of vLLM and waits until all of them answer.
   *
   * @param vllm the program
   * @param count of engines; those of pairs have the first size of blocks
   * @param blockSizes tokens in a block, in turn; none for the least that it takes
   * @param source of the model that they serve, by the name of the {@link WordModel}
   * @param features of that model: whether engines speculate with its draft model, and serve its adapters
   * @throws IOException when one does not come up; its log is named
   */
  static RealEngines vllm(
      Path vllm, Count count, List<Integer> blockSizes, ModelSource source, WordModel.Features features,
      HttpClient http)
      throws IOException, InterruptedException {
    return start(
        "vLLM",
        (model, port, blockSize, events) -> {
          List<String> words = new ArrayList<>(vllm(vllm, model, port, blockSize, events));
          if (features.drafts()) {
            words.add("--speculative-config");
            words.add(
                """
                {"method": "eagle", "model": "%s", "num_speculative_tokens": 2}""".formatted(WordModel.draft(model)));
          }
          if (features.adapters()) {
            words.addAll(List.of("--enable-lora", "--max-loras", "2", "--max-lora-rank", "8", "--lora-modules"));
            words.addAll(adapters(model));
          }
          return words;
        },
        count, blockSizes.isEmpty() ? List.of(VLLM_BLOCK_SIZE) : blockSizes, source, http);
  }

  /**
   * Starts engines of SGLang and waits until all of them answer.
   *
   * @param python that has it
   * @param blockSizes tokens in a page, in turn; none for the usual
   * @param source of the model that they serve, by the name of the {@link WordModel}
   * @param features of that model: whether engines serve its adapters
   * @throws IOException when one does not come up; its log is named
   */
  static RealEngines sglang(
      Path python, int count, List<Integer> blockSizes, ModelSource source, WordModel.Features features,
      HttpClient http)
      throws IOException, InterruptedException {
    return start(
        "SGLang",
        (model, port, blockSize, events) -> {
          List<String> words = new ArrayList<>(sglang(python, model, port, blockSize, events));
          if (features.adapters()) {
            words.addAll(List.of("--enable-lora", "--lora-backend", "torch_native", "--lora-paths"));
            words.addAll(adapters(model));
          }
          return words;
        },
        new Count(count, 0), blockSizes.isEmpty() ? List.of(SGLANG_PAGE_SIZE) : blockSizes, source, http);
  }

  private static RealEngines start(
      String kind, Command command, Count count, List<Integer> blockSizes, ModelSource source, HttpClient http)
      throws IOException, InterruptedException {
    RealEngines engines = new RealEngines(kind);
    try {
      Path all = Files.createDirectories(Path.of("target", "engines").toAbsolutePath());
      Path work = Files.createTempDirectory(all, kind.toLowerCase(Locale.ROOT) + "-");
      Path model = source.in(work);
      for (int i = 0; i < count.whole; i++) {
        engines.launch(command, "both", model, blockSizes.get(i % blockSizes.size()), work);
      }
      for (int i = 0; i < count.pairs; i++) {
        engines.launch(command.ofPair(true), "prefill", model, blockSizes.getFirst(), work);
        engines.launch(command.ofPair(false), "decode", model, blockSizes.getFirst(), work);
      }
      engines.awaitHealthy(http, work);
      return engines;
    } catch (IOException | InterruptedException e) {
      engines.close();
      throw e;
    }
  }

  private RealEngines(String kind) {
    this.kind = kind;
  }

  @Override
  public List<EngineAddress> addresses() {
    return addresses;
  }

  @Override
  public void close() {
    processes.forEach(ChildProcess::close);
  }

  private void launch(Command command, String role, Path model, int blockSize, Path work) throws IOException {
    Path log = work.resolve("engine-" + processes.size() + ".log");
    int port = Ports.free();
    String events = "tcp://127.0.0.1:" + Ports.free();
    String replay = "tcp://127.0.0.1:" + Ports.free();
    List<String> words = new ArrayList<>(ENVIRONMENT);
    words.addAll(command.of(model, port, blockSize, eventsConfig(events, replay)));
    String name = kind + " at port " + port;
    ChildProcess process = ChildProcess.quiet(name, log, words);
    processes.add(process);
    addresses.add(
        new EngineAddress(
            URI.create("http://127.0.0.1:" + port), events, replay, true, role,
            role.equals("both") ? null : new EngineAddress.Transfer("vllm-nixl", 0, "")));
    System.err.printf("%s, process %d: events at %s, replay at %s, log %s%n", name, process.pid(), events, replay, log);
  }

  private static List<String> vllm(Path vllm, Path model, int port, int blockSize, String events) {
    return List.of(
        vllm.toString(), "serve", model.toString(),
        "--served-model-name", WordModel.NAME,
        "--host", "127.0.0.1",
        "--port", String.valueOf(port),
        "--dtype", "float32",
        "--load-format", weights(model),
        "--enforce-eager",
        "--max-model-len", String.valueOf(WordModel.MAX_LENGTH),
        "--max-num-seqs", MOST_AT_ONCE,
        "--block-size", String.valueOf(blockSize),
        "--num-gpu-blocks-override", String.valueOf(TOKENS / blockSize),
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
        "--enable-auto-tool-choice",
        "--tool-call-parser", isHarmony(model) ? "openai" : "hermes",
        "--kv-events-config", events);
  }

  /** It tells of blocks with every step, not with every 40th, and has its attention and sampling in plain torch. */
  private static List<String> sglang(Path python, Path model, int port, int blockSize, String events) {
    return List.of(
        python.toString(), "-m", "sglang.launch_server",
        "--model-path", model.toString(),
        "--served-model-name", WordModel.NAME,
        "--host", "127.0.0.1",
        "--port", String.valueOf(port),
        "--device", "cpu",
        "--dtype", "float32",
        "--load-format", weights(model),
        "--attention-backend", "torch_native",
        "--sampling-backend", "pytorch",
        "--cuda-graph-backend-decode", "disabled",
        "--cuda-graph-backend-prefill", "disabled",
        "--mem-fraction-static", "0.3",
        "--context-length", String.valueOf(WordModel.MAX_LENGTH),
        "--max-running-requests", MOST_AT_ONCE,
        "--page-size", String.valueOf(blockSize),
        "--max-total-tokens", String.valueOf(TOKENS),
        "--decode-log-interval", "1",
        "--enable-cache-report",
        "--kv-events-config", events);
  }

  private static List<String> adapters(Path model) {
    return WordModel.adapters(model).entrySet().stream().map(one -> one.getKey() + "=" + one.getValue()).toList();
  }

  private static boolean isHarmony(Path model) {
    try {
      return Files.readString(model.resolve("config.json")).contains("\"gpt_oss\"");
    } catch (IOException none) {
      throw new UncheckedIOException(none);
    }
  }

  /** How weights are loaded: those of a model that has none are made up. */
  private static String weights(Path model) {
    String[] files = model.toFile().list((_, name) -> name.endsWith(".safetensors"));
    return files == null || files.length == 0 ? "dummy" : "auto";
  }

  private static String eventsConfig(String events, String replay) {
    return """
        {"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "%s", "replay_endpoint": "%s"}"""
        .formatted(bound(events), bound(replay));
  }

  /** They bind where the address is a wildcard, and connect elsewhere. */
  private static String bound(String endpoint) {
    return endpoint.replace("127.0.0.1", "*");
  }

  private void awaitHealthy(HttpClient http, Path logs) throws IOException, InterruptedException {
    long from = System.nanoTime();
    int well = 0;
    try (ProgressBar progress = new ProgressBar(kind + " starts")) {
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
