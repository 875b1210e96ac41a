package io.kvasir.console;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The console's files: how they are served, and what no file of them may contain. */
final class ConsoleAssetsTest {
  private static final Path FILES = Path.of("src/main/resources/io/kvasir/console");

  private static FakeAdmin admin;

  private static HttpClient http;

  @BeforeAll
  static void start() throws IOException {
    admin = FakeAdmin.start(new FakeFleet(1));
    http = HttpClient.newHttpClient();
  }

  @AfterAll
  static void stop() {
    http.close();
    admin.close();
  }

  @Test
  void page_isGuarded() throws Exception {
    HttpResponse<String> page = send("GET", "");
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(header(page, "Content-Type")).isEqualTo("text/html; charset=utf-8");
    assertThat(header(page, "Content-Security-Policy")).isEqualTo(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
            + " base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
    assertThat(header(page, "X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(header(page, "Referrer-Policy")).isEqualTo("no-referrer");
    assertThat(header(page, "Cache-Control")).isEqualTo("no-cache");
  }

  @Test
  void everyFile_isServed_withItsTypeAndTag() throws Exception {
    for (Path file : files()) {
      String name = FILES.relativize(file).toString();
      if (!name.endsWith("SHA256SUMS")) {
        HttpResponse<String> whole = send("GET", name);
        assertThat(whole.statusCode()).as(name).isEqualTo(200);
        assertThat(whole.body()).as(name).isEqualTo(Files.readString(file));
        assertThat(header(whole, "Content-Type")).as(name).contains("; charset=utf-8");
        HttpResponse<String> again = send("GET", name, "If-None-Match", header(whole, "ETag"));
        assertThat(again.statusCode()).as(name).isEqualTo(304);
        assertThat(again.body()).as(name).isEmpty();
        assertThat(send("GET", name, "If-None-Match", "\"another\"").statusCode()).as(name).isEqualTo(200);
      }
    }
  }

  @Test
  void otherTags_areOfOtherFiles() throws Exception {
    assertThat(header(send("GET", "main.js"), "ETag")).isNotEqualTo(header(send("GET", "console.css"), "ETag"));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "nothing.js", "../ConsoleAssets.class", "ConsoleAssets.class", "pages/../main.js", "%2e%2e/main.js", "pages/",
    "vendor/SHA256SUMS", "pages//log.js", "index.html/"})
  void otherNames_areNotThere(String name) throws Exception {
    HttpResponse<String> answer = send("GET", name);
    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(header(answer, "Content-Security-Policy")).isNotEmpty();
  }

  @Test
  void folderWithoutSlash_leadsThere_alsoBehindAPrefix() throws Exception {
    URI folder = URI.create(admin.console().toString().replaceFirst("/$", ""));
    HttpResponse<String> answer =
        http.send(HttpRequest.newBuilder(folder).build(), BodyHandlers.ofString());
    assertThat(answer.statusCode()).isEqualTo(308);
    assertThat(header(answer, "Location")).isEqualTo("console/");
  }

  @Test
  void head_isAnswered_changesAreNot() throws Exception {
    assertThat(send("HEAD", "main.js").statusCode()).isEqualTo(200);
    for (String method : List.of("POST", "PUT", "DELETE")) {
      HttpResponse<String> refused = send(method, "main.js");
      assertThat(refused.statusCode()).as(method).isEqualTo(405);
      assertThat(header(refused, "Allow")).isEqualTo("GET, HEAD");
    }
  }

  @Test
  void vendoredFiles_areAsReleased() throws Exception {
    StringBuilder sums = new StringBuilder();
    for (Path file : files()) {
      if (isVendored(file) && !file.endsWith("SHA256SUMS")) {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
        sums.append(HexFormat.of().formatHex(digest)).append("  ").append(file.getFileName()).append('\n');
      }
    }
    assertThat(sums.toString().lines()).containsExactlyInAnyOrderElementsOf(
        Files.readAllLines(FILES.resolve("vendor/SHA256SUMS")));
  }

  @Test
  void everyModuleThatIsImported_exists_andEveryOneIsUsed() throws Exception {
    Map<Path, Boolean> used = new HashMap<>();
    for (Path file : ours(".js")) {
      used.putIfAbsent(file, file.endsWith("main.js"));
      for (String imported : found("from '([^']+)'", Files.readString(file))) {
        Path module = file.resolveSibling(imported).normalize();
        assertThat(imported).as("%s imports", file).startsWith(".");
        assertThat(module).as("imported by %s", file).exists();
        used.put(module, true);
      }
    }
    assertThat(used).doesNotContainValue(false);
  }

  @Test
  void ourModules_setNoMarkup() throws Exception {
    for (Path file : ours(".js")) {
      assertThat(Files.readString(file)).as("%s", file)
          .doesNotContainIgnoringCase("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(");
    }
  }

  @Test
  void noFile_namesAnotherOrigin() throws Exception {
    for (String suffix : List.of(".js", ".css", ".html")) {
      for (Path file : ours(suffix)) {
        assertThat(found("((?:https?:)?//[a-z0-9][^\\s'\"]*)", withoutComments(Files.readString(file))))
            .as("%s", file)
            .allMatch(url -> url.startsWith("http://www.w3.org/2000/svg"));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void texts_haveTheContrastOfWcagAa_inLightAndInDark(int scheme) throws Exception {
    Map<String, Integer> colours = colours(scheme);
    for (String paper : List.of("paper", "panel", "sunken")) {
      for (String text : List.of("ink", "soft", "accent")) {
        contrast(colours, text, paper, 4.5);
      }
      contrast(colours, "edge", paper, 3);
    }
    for (String kind : List.of("good", "warn", "bad")) {
      contrast(colours, kind, kind + "-paper", 4.5);
      contrast(colours, kind, "panel", 4.5);
      contrast(colours, "ink", kind + "-paper", 4.5);
    }
    contrast(colours, "soft", "good-paper", 4.5);
    contrast(colours, "accent", "good-paper", 4.5);
    contrast(colours, "on-accent", "accent", 4.5);
    for (int step = 0; step < 8; step++) {
      contrast(colours, step < 4 ? "on-heat-low" : step == 4 ? "on-heat-middle" : "on-heat-high", "heat-" + step, 4.5);
    }
    for (int series = 1; series <= 4; series++) {
      contrast(colours, "series-" + series, "panel", 3);
    }
  }

  private static void contrast(Map<String, Integer> colours, String text, String paper, double least) {
    double one = luminance(requireNonNull(colours.get(text), text));
    double other = luminance(requireNonNull(colours.get(paper), paper));
    double ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    assertThat(ratio).as("contrast of %s on %s", text, paper).isGreaterThanOrEqualTo(least);
  }

  /** The custom properties of the style sheet: 0 for light, 1 for dark. */
  private static Map<String, Integer> colours(int scheme) throws IOException {
    Map<String, Integer> colours = new HashMap<>();
    Pattern.compile("--([a-z0-9-]+): light-dark\\(#([0-9a-f]{6}), #([0-9a-f]{6})\\)")
        .matcher(Files.readString(FILES.resolve("console.css"))).results()
        .forEach(found -> colours.put(found.group(1), Integer.parseInt(found.group(2 + scheme), 16)));
    return colours;
  }

  /** Relative luminance as WCAG defines it. */
  private static double luminance(int colour) {
    return 0.2126 * linear(colour >> 16) + 0.7152 * linear(colour >> 8) + 0.0722 * linear(colour);
  }

  private static double linear(int channel) {
    double share = (channel & 0xff) / 255.0;
    return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
  }

  private static String withoutComments(String text) {
    return text.replaceAll("(?m)^\\s*//.*$", "").replaceAll("(?s)/\\*.*?\\*/", "");
  }

  private static List<String> found(String pattern, String text) {
    return Pattern.compile(pattern).matcher(text).results().map((MatchResult match) -> match.group(1)).toList();
  }

  /** Files that are not vendored. */
  private static List<Path> ours(String suffix) throws IOException {
    return files().stream()
        .filter(file -> !isVendored(file) && file.toString().endsWith(suffix))
        .toList();
  }

  private static boolean isVendored(Path file) {
    return file.startsWith(FILES.resolve("vendor"));
  }

  private static List<Path> files() throws IOException {
    try (Stream<Path> all = Files.walk(FILES)) {
      return all.filter(Files::isRegularFile).sorted().toList();
    }
  }

  private static HttpResponse<String> send(String method, String name, String... headers) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(admin.console() + name))
            .method(method, HttpRequest.BodyPublishers.noBody());
    return http.send((headers.length == 0 ? request : request.headers(headers)).build(), BodyHandlers.ofString());
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}
