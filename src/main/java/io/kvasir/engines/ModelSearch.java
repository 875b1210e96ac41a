package io.kvasir.engines;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the Hugging Face files of models on this machine: in directories that were named, where the engine has them, or
 * in the Hugging Face cache.
 */
public final class ModelSearch {
  private static final Pattern REPOSITORY = Pattern.compile("[\\w-][\\w.-]*(/[\\w-][\\w.-]*)?");
  private static final Pattern REVISION = Pattern.compile("[0-9a-f]{7,64}");

  /** The model of simulated engines, whose files are the router's own. */
  private static final String SIMULATED = "kvasir-demo";

  private final List<Path> named;
  private final Path cache;

  /**
   * A search.
   *
   * @param named directories of models, called as the last part of the model's name
   * @param environment for {@code HF_HUB_CACHE} and {@code HF_HOME}
   * @throws IOException when a named directory is none of a model; the message says what to name instead
   */
  public ModelSearch(List<Path> named, Map<String, String> environment) throws IOException {
    for (Path directory : named) {
      if (!hasTokenizer(directory)) {
        throw new IOException(
            "--model-directory " + directory + " has no tokenizer.json that can be read; name the directory that has"
                + " the model's Hugging Face files");
      }
    }
    this.named = List.copyOf(named);
    this.cache = cache(environment);
  }

  /**
   * Where a model's files are.
   *
   * @param directory as {@code models[].directory} has it
   * @param how it was found, for people
   */
  public record Found(String directory, String how) {}

  /**
   * The files of a model that an engine serves; empty when they are not on this machine.
   *
   * @param onlyModel whether no other model is served, so that a named directory is this one's, whatever it is called
   */
  public Optional<Found> find(ServedModel model, boolean onlyModel, boolean simulated) {
    for (Path directory : named) {
      if (onlyModel || lastPart(model.name()).equals(String.valueOf(directory.getFileName()))) {
        return Optional.of(new Found(directory.toString(), "as --model-directory says"));
      }
    }
    for (String place : places(model)) {
      Path own = path(place);
      if (own != null && own.isAbsolute() && hasTokenizer(own)) {
        return Optional.of(new Found(place, "told by the engine, and found on this machine"));
      }
      Path cached = cached(place);
      if (cached != null) {
        return Optional.of(new Found(cached.toString(), "found in the Hugging Face cache of this machine"));
      }
    }
    return simulated && model.name().equals(SIMULATED)
        ? Optional.of(new Found("bundled:" + SIMULATED, "the simulated engine's own"))
        : Optional.empty();
  }

  /**
   * The bundled files of the one model that an engine serves, by the tokens that it makes; empty when they are not
   * bundled.
   */
  public static Optional<Found> bundled(EngineDescription engine, EngineTokens tokens) {
    return tokens == EngineTokens.HARMONY && engine.baseModels().size() == 1
        ? Optional.of(new Found("bundled:gpt-oss", "bundled, as its engine makes the tokens of gpt-oss"))
        : Optional.empty();
  }

  /** The tokenizer's place comes before the model's: they may be different repositories. */
  private static List<String> places(ServedModel model) {
    List<String> places = new ArrayList<>();
    for (String place : new String[] {model.tokenizer(), model.root(), model.name()}) {
      if (place != null && !places.contains(place)) {
        places.add(place);
      }
    }
    return places;
  }

  /** The snapshot of a repository that {@code main} is. */
  private @Nullable Path cached(String repository) {
    if (!REPOSITORY.matcher(repository).matches()) {
      return null;
    }
    Path model = cache.resolve("models--" + repository.replace("/", "--"));
    try {
      String revision = Files.readString(model.resolve("refs").resolve("main")).strip();
      Path snapshot = model.resolve("snapshots").resolve(revision);
      return REVISION.matcher(revision).matches() && hasTokenizer(snapshot) ? snapshot : null;
    } catch (IOException absent) {
      return null;
    }
  }

  private static Path cache(Map<String, String> environment) {
    String hub = environment.getOrDefault("HF_HUB_CACHE", "");
    String home = environment.getOrDefault("HF_HOME", "");
    return !hub.isBlank() ? Path.of(hub)
        : !home.isBlank() ? Path.of(home, "hub")
        : Path.of(System.getProperty("user.home", ""), ".cache", "huggingface", "hub");
  }

  private static boolean hasTokenizer(Path directory) {
    return Files.isReadable(directory.resolve("tokenizer.json"));
  }

  private static String lastPart(String name) {
    return name.substring(name.lastIndexOf('/') + 1);
  }

  private static @Nullable Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException none) {
      return null;
    }
  }
}
