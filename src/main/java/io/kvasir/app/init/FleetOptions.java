package io.kvasir.app.init;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.StartException;
import io.kvasir.engines.EngineSurvey;
import io.kvasir.engines.ModelSearch;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options about engines that are asked what they are. */
public final class FleetOptions {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  @Option(
      names = "--model-directory",
      paramLabel = "DIR",
      description = {
        "The Hugging Face files of a model, where they are neither in the engine's place nor in the Hugging Face",
        "cache. For several models, directories called as the last part of the models' names."
      })
  private List<Path> modelDirectories = List.of();

  @Option(
      names = "--engine-key-file",
      paramLabel = "FILE",
      description = "A file with the engines' API key. Or KVASIR_POD_API_KEY, the key itself.")
  private @Nullable Path keyFile;

  /** Whether one of them is there. */
  public boolean isAny() {
    return keyFile != null || !modelDirectories.isEmpty();
  }

  /**
   * Asks engines what they are, and writes the configuration of a router for them, which is valid.
   *
   * @throws StartException when an engine cannot be asked, or they do not go together; the message has all reasons
   */
  public LearntConfiguration learn(List<String> urls) throws StartException, ConfigException, InterruptedException {
    return learn(urls, null);
  }

  /**
   * The same with keys for clients.
   *
   * @param clientKeys their file, null without one
   */
  LearntConfiguration learn(List<String> urls, @Nullable Path clientKeys)
      throws StartException, ConfigException, InterruptedException {
    Map<String, String> environment = System.getenv();
    ModelSearch files = modelSearch(environment);
    try (HttpCalls calls = new HttpCalls(CONNECT_TIMEOUT, tls())) {
      String key = key(environment);
      EngineSurvey survey = new EngineSurvey(calls, TIMEOUT);
      List<FleetEngine> engines = new FleetSurvey(survey, key).survey(urls);
      return FleetConfiguration.of(engines, files, keyFile == null ? null : keyFile.toAbsolutePath(), clientKeys);
    }
  }

  private ModelSearch modelSearch(Map<String, String> environment) throws StartException {
    try {
      return new ModelSearch(modelDirectories, environment);
    } catch (IOException none) {
      throw new StartException(String.valueOf(none.getMessage()), none);
    }
  }

  /** As the router's own for https pods, by KVASIR_PODS_TLS_AUTHORITY and the like; null for what the JVM trusts. */
  private static @Nullable SSLContext tls() throws StartException, ConfigException {
    TlsFiles tls = KvasirConfig.of(ConfigFactory.empty()).execution().tls();
    try {
      return tls == null ? null : new ReloadingTls(tls, NanoClock.SYSTEM).context();
    } catch (IOException unusable) {
      throw new StartException("TLS with engines cannot be used: " + unusable.getMessage(), unusable);
    }
  }

  private @Nullable String key(Map<String, String> environment) throws StartException {
    if (keyFile == null) {
      String key = environment.getOrDefault("KVASIR_POD_API_KEY", "").strip();
      return key.isEmpty() ? null : key;
    }
    try {
      return Files.readString(keyFile).strip();
    } catch (IOException unreadable) {
      throw new StartException(
          "the key's file " + keyFile + " cannot be read; does it exist, and may you read it?", unreadable);
    }
  }
}
