package io.kvasir.gateway;

import com.typesafe.config.ConfigFactory;
import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.PushEvents;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.FakeCells;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dispatch.Dispatcher;
import io.kvasir.gateway.request.PromptConversion;
import io.kvasir.gateway.request.PromptTokenCounter;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.server.HttpServer;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.locations.StoredResponses;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.Tracing;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.jspecify.annotations.Nullable;

/** A whole gateway on a real socket, over cells that a test scripts. */
final class TestRouter implements AutoCloseable {
  /** Quick ones, and as many as there are tries. */
  static final ExecutionSettings.Retries RETRIES =
      new ExecutionSettings.Retries(5, Duration.ofMillis(1), Duration.ofMillis(5), 1.5, 10, 1000);
  /** Quick retries, and deadlines no test meets by accident. */
  static final ExecutionSettings EXECUTION = new ExecutionSettings(
      RETRIES, Duration.ofSeconds(30), Duration.ofSeconds(30), Duration.ofSeconds(60), 1 << 20, null, 10_000);

  /** What all requests may take together, in bytes; one of them three quarters of it. */
  static final long MEMORY = 64 << 20;

  private static final ActorTestKit KIT = ActorTestKit.create();

  final FakeCells cells = new FakeCells();
  final PrometheusRegistry registry = new PrometheusRegistry();
  final @Nullable AnswerCache answers;
  final Prompts prompts;
  private final ChannelLoop connections = new ChannelLoop("test-router", ChannelLoop.defaultThreads());
  private final PodClient pods;
  private final Dispatcher dispatcher;
  private final Gateway gateway;
  private final HttpServer server;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  TestRouter() throws IOException {
    this(EXECUTION, GatewaySettings.defaults());
  }

  TestRouter(ExecutionSettings execution, GatewaySettings settings) throws IOException {
    this(execution, settings, PreprocessingStep.builtIn());
  }

  TestRouter(ExecutionSettings execution, GatewaySettings settings, Map<String, PreprocessingStep> preparations)
      throws IOException {
    this(execution, settings, preparations, "", ProfileChoice.always("random", false), null);
  }

  /** A gateway with profiles of its own beside the built-in ones. */
  TestRouter(String own, ProfileChoice choice) throws IOException {
    this(EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), own, choice, null);
  }

  /** The same with limits of its own. */
  TestRouter(ExecutionSettings execution, String own, ProfileChoice choice) throws IOException {
    this(execution, GatewaySettings.defaults(), PreprocessingStep.builtIn(), own, choice, null);
  }

  /** The same with these prompts. */
  TestRouter(PromptLoader loader, ExecutionSettings execution, String own, ProfileChoice choice) throws IOException {
    this(
        GatewayAccess.open(), execution, GatewaySettings.defaults(), PreprocessingStep.builtIn(), own, choice, null,
        loader, _ -> Tracing.OFF);
  }

  /** A gateway that keeps answers. */
  TestRouter(AnswerSettings answers, ProfileChoice choice) throws IOException {
    this(EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), "", choice, answers);
  }

  /** A gateway with these settings that keeps answers. */
  TestRouter(GatewaySettings settings, AnswerSettings answers) throws IOException {
    this(
        EXECUTION, settings, PreprocessingStep.builtIn(), "", ProfileChoice.always("random", false), answers);
  }

  /** A gateway for known callers, which keeps answers where settings for that are given. */
  TestRouter(GatewayAccess access, @Nullable AnswerSettings answers) throws IOException {
    this(
        access, EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), "",
        ProfileChoice.always("random", true), answers);
  }

  /** A gateway that prepares prompts of no models by these settings. */
  TestRouter(PromptSettings promptSettings) throws IOException {
    this(metrics -> prompts(promptSettings, metrics));
  }

  /** A gateway with these prompts. */
  TestRouter(PromptLoader loader) throws IOException {
    this(
        GatewayAccess.open(), EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), "",
        ProfileChoice.always("random", false), null, loader, _ -> Tracing.OFF);
  }

  /** A gateway whose requests are traced. */
  TestRouter(ExecutionSettings execution, String own, ProfileChoice choice, TracingStarter tracing)
      throws IOException {
    this(
        GatewayAccess.open(), execution, GatewaySettings.defaults(), PreprocessingStep.builtIn(), own, choice, null,
        metrics -> prompts(PromptSettings.ofMemo(1 << 20), metrics), tracing);
  }

  /** The same with these prompts. */
  TestRouter(PromptLoader loader, TracingStarter tracing) throws IOException {
    this(
        GatewayAccess.open(), EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), "",
        ProfileChoice.always("random", false), null, loader, tracing);
  }

  /** Starts traces. */
  @FunctionalInterface
  interface TracingStarter {
    Tracing start(Metrics metrics) throws IOException;
  }

  /** Loads prompts. */
  @FunctionalInterface
  interface PromptLoader {
    Prompts load(Metrics metrics) throws IOException;
  }

  private static Prompts prompts(PromptSettings promptSettings, Metrics metrics) throws IOException {
    return Prompts.load(
        List.of(), promptSettings, _ -> null, Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM, metrics);
  }

  private TestRouter(
      ExecutionSettings execution,
      GatewaySettings settings,
      Map<String, PreprocessingStep> preparations,
      String own,
      ProfileChoice choice,
      @Nullable AnswerSettings answerSettings)
      throws IOException {
    this(GatewayAccess.open(), execution, settings, preparations, own, choice, answerSettings);
  }

  private TestRouter(
      GatewayAccess access,
      ExecutionSettings execution,
      GatewaySettings settings,
      Map<String, PreprocessingStep> preparations,
      String own,
      ProfileChoice choice,
      @Nullable AnswerSettings answerSettings)
      throws IOException {
    this(access, execution, settings, preparations, own, choice, answerSettings,
        metrics -> prompts(PromptSettings.ofMemo(1 << 20), metrics), _ -> Tracing.OFF);
  }

  private TestRouter(
      GatewayAccess access,
      ExecutionSettings execution,
      GatewaySettings settings,
      Map<String, PreprocessingStep> preparations,
      String own,
      ProfileChoice choice,
      @Nullable AnswerSettings answerSettings,
      PromptLoader loader,
      TracingStarter tracing)
      throws IOException {
    this(
        access, execution, settings, preparations, own, choice, answerSettings, loader, tracing,
        PodClient.Settings.defaults(), HttpSettings.at("127.0.0.1", 0));
  }

  /** A gateway with these connections to pods and from clients. */
  TestRouter(PodClient.Settings podSettings, HttpSettings listener) throws IOException {
    this(
        GatewayAccess.open(), EXECUTION, GatewaySettings.defaults(), PreprocessingStep.builtIn(), "",
        ProfileChoice.always("random", false), null, metrics -> prompts(PromptSettings.ofMemo(1 << 20), metrics),
        _ -> Tracing.OFF, podSettings, listener);
  }

  private TestRouter(
      GatewayAccess access,
      ExecutionSettings execution,
      GatewaySettings settings,
      Map<String, PreprocessingStep> preparations,
      String own,
      ProfileChoice choice,
      @Nullable AnswerSettings answerSettings,
      PromptLoader loader,
      TracingStarter tracing,
      PodClient.Settings podSettings,
      HttpSettings listener)
      throws IOException {
    Metrics metrics = new Metrics(registry);
    answers = answerSettings == null ? null : new AnswerCache(answerSettings, InstantSource.system(), metrics);
    pods = new PodClient(podSettings, connections, metrics, NanoClock.SYSTEM);
    prompts = loader.load(metrics);
    dispatcher = new Dispatcher(
        KIT.system(), cells, pods, execution, preparations, Warmup.NONE, new PromptTokenCounter(prompts),
        new PromptConversion(prompts), metrics);
    PluginRegistry plugins = BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths());
    LiveProfiles profiles =
        new LiveProfiles(
            new Profiles(new ProfileCompiler(plugins).compile(ConfigFactory.parseString(own)), choice));
    gateway = new Gateway(
        access, prompts, profiles, cells, dispatcher, new PushEvents(new EventMetrics(metrics)),
        (worker, exchange) -> null,
        answers,
        StoredResponses.alone(metrics),
        settings, metrics, tracing.start(metrics), NanoClock.SYSTEM);
    HttpSettings http = listener.withMaxBodyBytes(1 << 20).withMemoryBytes(MEMORY);
    server = HttpServer.start(KIT.system(), http, gateway, connections, metrics, NanoClock.SYSTEM);
  }

  URI url(String target) {
    return URI.create("http://127.0.0.1:" + server.address().getPort() + target);
  }

  HttpResponse<String> post(String target, String body, String... headers) throws IOException, InterruptedException {
    return send("POST", target, body, headers);
  }

  HttpResponse<String> get(String target, String... headers) throws IOException, InterruptedException {
    return send("GET", target, "", headers);
  }

  HttpResponse<String> send(String method, String target, String body, String... headers)
      throws IOException, InterruptedException {
    return client.send(request(method, target, body, headers), BodyHandlers.ofString());
  }

  HttpRequest request(String method, String target, String body, String... headers) {
    HttpRequest.Builder request = HttpRequest.newBuilder(url(target))
        .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
        .timeout(Duration.ofSeconds(60));
    if (!body.isEmpty() && Stream.of(headers).noneMatch("content-type"::equalsIgnoreCase)) {
      request.header("content-type", "application/json");
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request.build();
  }

  HttpClient client() {
    return client;
  }

  /** A connection on which a test writes by hand. */
  Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
    socket.setSoTimeout(60_000);
    return socket;
  }

  /** What comes until this has come. */
  static String readTo(Socket socket, String end) throws IOException {
    StringBuilder read = new StringBuilder();
    while (read.indexOf(end) < 0) {
      int c = socket.getInputStream().read();
      if (c < 0) {
        throw new IOException("ended before " + end + ": " + read);
      }
      read.append((char) c);
    }
    return read.toString();
  }

  /** All that still comes, or {@code cut} and why when the connection breaks. */
  static String rest(Socket socket) {
    try {
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return "cut: " + e;
    }
  }

  /** A request as it goes over the wire, to be written by hand. */
  static byte[] wire(String target, String body, String... headers) {
    StringBuilder text = new StringBuilder("POST " + target + " HTTP/1.1\r\nHost: router\r\n");
    for (int i = 0; i < headers.length; i += 2) {
      text.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
    }
    text.append("Content-Type: application/json\r\nContent-Length: ")
        .append(body.getBytes(StandardCharsets.UTF_8).length)
        .append("\r\n\r\n")
        .append(body);
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** The sum of a metric's series whose labels have these values; a histogram's count. */
  double metric(String name, String... values) {
    return TestMetrics.sum(registry, name, values);
  }

  /** As a node that stops, and waits so long for what is in progress. */
  void drain(Duration grace) {
    server.drain(grace);
  }

  /** As a node that stops, but for its front door. */
  void stopWorkflows() {
    dispatcher.close();
  }

  @Override
  public void close() {
    client.shutdownNow();
    server.close();
    gateway.close();
    dispatcher.close();
    pods.close();
    connections.close();
    if (answers != null) {
      answers.close();
    }
  }
}
