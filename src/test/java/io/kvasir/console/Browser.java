package io.kvasir.console;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.Await;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/**
 * A headless Chromium with one page, driven over the W3C WebDriver protocol: JSON over HTTP, to a ChromeDriver in a
 * child process. For one thread.
 */
public final class Browser implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final Path SCREENSHOTS = Path.of("target/console");
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A child process that has no sandbox of its own runs as root, too; nothing is fetched on its own account. */
  private static final List<String> CHROMIUM_ARGUMENTS =
      List.of(
          "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
          "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync");

  /**
   * Waits on the page itself until an expression is true, and returns its value: a question for each look would keep
   * browser and driver busy. One that throws is not true yet.
   */
  private static final String WAIT =
      """
      const given = [...arguments].slice(0, -1);
      const done = arguments[arguments.length - 1];
      const deadline = Date.now() + %d;
      const expression = function () { return %%s; };
      let failed = '';
      (function look() {
        let value = null;
        try {
          value = expression.apply(null, given);
        } catch (error) {
          failed = String(error);
        }
        if (value) done({ value });
        else if (Date.now() > deadline) done({ failed });
        else setTimeout(look, 5);
      })();
      """.formatted(PATIENCE.minusSeconds(10).toMillis());

  private final HttpClient http = HttpClient.newHttpClient();
  private final Process driver;
  private final URI session;

  private Browser(Process driver, URI drivers, Path chromium) throws IOException {
    this.driver = driver;
    Runtime.getRuntime().addShutdownHook(new Thread(driver::destroyForcibly));
    Await.await("chromedriver answers", () -> {
      assertThat(driver.isAlive()).as("chromedriver runs").isTrue();
      return answers(drivers.resolve("/status"));
    });
    ObjectNode wanted = JSON.createObjectNode();
    ObjectNode capabilities = wanted.putObject("capabilities").putObject("alwaysMatch").put("browserName", "chrome");
    capabilities.putObject("goog:loggingPrefs").put("browser", "ALL").put("performance", "ALL");
    ObjectNode options = capabilities.putObject("goog:chromeOptions").put("binary", chromium.toString());
    CHROMIUM_ARGUMENTS.forEach(options.putArray("args")::add);
    String id = send("POST", drivers.resolve("/session"), wanted).path("sessionId").asText();
    this.session = drivers.resolve("/session/" + id + "/");
    post("timeouts", JSON.createObjectNode().put("script", PATIENCE.toMillis()));
  }

  /** A browser; without one on a machine that cannot fetch it the test is skipped, with a loud word. */
  public static Browser start() throws IOException {
    Map<String, Path> programs = programs();
    Path chromium = requireNonNull(programs.get("chromium"));
    Path chromedriver = requireNonNull(programs.get("chromedriver"));
    int port = Ports.free();
    Process driver =
        new ProcessBuilder(chromedriver.toString(), "--port=" + port)
            .redirectErrorStream(true)
            .redirectOutput(Files.createDirectories(SCREENSHOTS).resolve("chromedriver.log").toFile())
            .start();
    return new Browser(driver, URI.create("http://127.0.0.1:" + port), chromium);
  }

  /**
   * Opens a page, in a window so wide (390 is a telephone's) in light or in dark, without motion, which would be
   * painted in software. It has a tab of its own, and the one before is closed: nothing of the page that was open is
   * stored, and what that still says is not heard.
   */
  public void open(URI page, int width, String scheme) {
    script("if (location.protocol.startsWith('http')) { localStorage.clear(); }");
    String tab = post("window/new", JSON.createObjectNode().put("type", "tab")).path("handle").asText();
    send("DELETE", session.resolve("window"), null);
    post("window", JSON.createObjectNode().put("handle", tab));
    var _ = log("browser");
    var _ = log("performance");
    command("Emulation.setDeviceMetricsOverride", """
        {"width": %d, "height": 900, "deviceScaleFactor": 1, "mobile": %b}""".formatted(width, width < 500));
    command("Emulation.setEmulatedMedia", """
        {"features": [{"name": "prefers-color-scheme", "value": "%s"},
          {"name": "prefers-reduced-motion", "value": "reduce"}]}""".formatted(scheme));
    post("url", JSON.createObjectNode().put("url", page.toString()));
  }

  /** What a script returns; {@code arguments[0]} … are texts it is given. */
  public JsonNode script(String script, String... arguments) {
    ObjectNode body = JSON.createObjectNode().put("script", script);
    List.of(arguments).forEach(body.putArray("args")::add);
    return post("execute/sync", body);
  }

  /** Waits until an expression is true on the page. */
  public void until(String expression, String... arguments) {
    awaited("!!(" + expression + ")", arguments);
  }

  private JsonNode awaited(String expression, String... arguments) {
    ObjectNode body = JSON.createObjectNode().put("script", WAIT.formatted(expression));
    List.of(arguments).forEach(body.putArray("args")::add);
    JsonNode found = post("execute/async", body);
    assertThat(found.has("value"))
        .as("waited too long: %s %s %s", expression, List.of(arguments), found.path("failed").asText())
        .isTrue();
    return found.path("value");
  }

  /** Clicks on what a CSS selector finds, once it is there, as a pointer does: not on what is covered. */
  public void click(String selector) {
    // A dialog that closes is there for a moment longer than it can be clicked.
    String shown = "[...document.querySelectorAll(arguments[0])].find(each => each.checkVisibility())";
    post("element/" + awaitedElement(shown, selector) + "/click", JSON.createObjectNode());
  }

  /** Types into what a CSS selector finds. */
  public void type(String selector, String text) {
    post("element/" + element(selector) + "/value", JSON.createObjectNode().put("text", text));
  }

  /** Presses a key wherever the focus is; keys without a character have those of the WebDriver protocol. */
  public void press(String key) {
    post("actions", """
        {"actions": [{"type": "key", "id": "keys", "actions": [
          {"type": "keyDown", "value": "%1$s"}, {"type": "keyUp", "value": "%1$s"}]}]}""".formatted(key));
  }

  /** The text of what a CSS selector finds, as it is seen. */
  public String text(String selector) {
    return awaited("{ text: document.querySelector(arguments[0]).innerText }", selector).path("text").asText();
  }

  /** Keeps the whole page as a picture, {@code target/console/NAME.png}. */
  public void screenshot(String name) {
    JsonNode size = script("return [innerWidth, Math.min(4000, document.documentElement.scrollHeight)]");
    JsonNode picture = command("Page.captureScreenshot", """
        {"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true,
         "clip": {"x": 0, "y": 0, "width": %s, "height": %s, "scale": 1}}"""
        .formatted(size.get(0), size.get(1)));
    try {
      Files.write(SCREENSHOTS.resolve(name + ".png"), Base64.getDecoder().decode(picture.path("data").asText()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Errors and warnings of the console since it was asked last, violations of the page's policy among them. */
  public List<String> complaints() {
    return StreamSupport.stream(log("browser").spliterator(), false)
        .filter(entry -> !entry.path("level").asText().matches("INFO|DEBUG"))
        .map(entry -> entry.path("message").asText())
        .toList();
  }

  /** Addresses that were requested since it was asked last. */
  public List<URI> requests() throws IOException {
    List<URI> requests = new ArrayList<>();
    for (JsonNode entry : log("performance")) {
      JsonNode message = JSON.readTree(entry.path("message").asText()).path("message");
      String url = message.at("/params/request/url").asText();
      if (message.path("method").asText().equals("Network.requestWillBeSent") && !url.startsWith("data:")) {
        requests.add(URI.create(url));
      }
    }
    return requests;
  }

  @Override
  public void close() {
    try {
      send("DELETE", URI.create(session.toString().replaceFirst("/$", "")), null);
    } finally {
      driver.destroy();
      http.close();
    }
  }

  private JsonNode log(String type) {
    return post("se/log", JSON.createObjectNode().put("type", type));
  }

  private String element(String selector) {
    return awaitedElement("document.querySelector(arguments[0])", selector);
  }

  private String awaitedElement(String expression, String selector) {
    JsonNode found = awaited(expression, selector);
    return found.properties().iterator().next().getValue().asText();
  }

  private JsonNode command(String name, String parameters) {
    return post("goog/cdp/execute", "{\"cmd\": \"%s\", \"params\": %s}".formatted(name, parameters));
  }

  private JsonNode post(String path, String json) {
    try {
      return post(path, (ObjectNode) JSON.readTree(json));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private JsonNode post(String path, ObjectNode body) {
    return send("POST", session.resolve(path), body);
  }

  private JsonNode send(String method, URI at, @Nullable ObjectNode body) {
    HttpRequest request =
        HttpRequest.newBuilder(at)
            .timeout(PATIENCE)
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body.toString()))
            .build();
    try {
      HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
      JsonNode value = JSON.readTree(answer.body()).path("value");
      assertThat(answer.statusCode()).as("%s %s: %s", method, at, value).isEqualTo(200);
      return value;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private boolean answers(URI at) {
    try {
      return http.send(HttpRequest.newBuilder(at).build(), BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** The paths of the programs: on the PATH, or fetched by the script. */
  private static Map<String, Path> programs() throws IOException {
    Process script = new ProcessBuilder("src/test/browser").start();
    script.getOutputStream().close();
    Map<String, Path> programs =
        script.inputReader().lines().map(line -> line.split(" ", 2))
            .collect(Collectors.toMap(parts -> parts[0], parts -> Path.of(parts[1])));
    String errors = new String(script.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      script.waitFor(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (programs.size() < 2) {
      System.err.println("##### THE CONSOLE IS NOT TESTED IN A BROWSER: " + errors);
      Assumptions.abort(errors);
    }
    return programs;
  }
}
