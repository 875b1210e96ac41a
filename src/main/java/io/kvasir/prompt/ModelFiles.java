package io.kvasir.prompt;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.HarmonyVocabulary;
import io.kvasir.prompt.tokens.Tokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The contents of a model's files, from a directory or from bundled resources.
 *
 * @param tokenizer null when there is none
 * @param templates its chat templates, null when there are none
 * @param harmony whether it is of the kind that converses in the Harmony format
 */
record ModelFiles(@Nullable Tokenizer tokenizer, @Nullable ChatTemplates templates, boolean harmony) {
  private static final String HARMONY_MODEL = "gpt_oss";

  private static final String BUNDLED = "bundled:";

  /** Reads the files that {@code config} names; a tokenizer only where its mode needs one. */
  static ModelFiles read(ModelConfig config) throws IOException {
    String directory = config.sources().directory();
    if (directory == null || !directory.startsWith(BUNDLED)) {
      return read(config, directory == null ? null : Path.of(directory));
    }
    String resource = "/models/" + directory.substring(BUNDLED.length());
    URL url = ModelFiles.class.getResource(resource + "/README.md");
    if (url == null) {
      throw new NoSuchFileException(directory, null, "is not a bundled model");
    }
    if (url.openConnection() instanceof JarURLConnection jar) {
      try (FileSystem files = FileSystems.newFileSystem(path(jar.getJarFileURL()), Map.of())) {
        return read(config, files.getPath(resource));
      }
    }
    return read(config, path(url).getParent());
  }

  private static Path path(URL url) throws IOException {
    try {
      return Path.of(new URI(url.toString()));
    } catch (URISyntaxException e) {
      throw new IOException(url + " is not a file", e);
    }
  }

  private static ModelFiles read(ModelConfig config, @Nullable Path directory) throws IOException {
    ChatTemplates templates = templates(config, directory);
    boolean harmony = isHarmony(directory, templates);
    return new ModelFiles(
        config.mode() == PromptMode.EXACT ? tokenizer(config, directory, harmony) : null, templates, harmony);
  }

  /** By the model's configuration, as engines know it; without one, by what its template prints. */
  private static boolean isHarmony(@Nullable Path directory, @Nullable ChatTemplates templates) throws IOException {
    Path config = directory == null ? null : directory.resolve("config.json");
    if (config != null && Files.exists(config)) {
      return new JsonMapper().readTree(Files.readAllBytes(config)).path("model_type").asText().equals(HARMONY_MODEL);
    }
    return templates != null && templates.named().values().stream().anyMatch(ChatTemplate::isHarmony);
  }

  private static @Nullable Tokenizer tokenizer(ModelConfig config, @Nullable Path directory, boolean harmony)
      throws IOException {
    String named = config.sources().tokenizer();
    Path file = named != null ? Path.of(named) : directory == null ? null : directory.resolve("tokenizer.json");
    if (file != null && (named != null || Files.exists(file))) {
      byte[] json = Files.readAllBytes(file);
      return harmony ? Tokenizer.withBreaks(json) : Tokenizer.of(json);
    }
    Path vocabulary = directory == null ? null : directory.resolve("o200k_base.tiktoken.gz");
    if (vocabulary == null || !Files.exists(vocabulary)) {
      return null;
    }
    try (InputStream packed = Files.newInputStream(vocabulary)) {
      return HarmonyVocabulary.tokenizer(packed);
    }
  }

  /** The template that the configuration names is read alone: the directory may have none, or one that is broken. */
  private static @Nullable ChatTemplates templates(ModelConfig config, @Nullable Path directory) throws IOException {
    String named = config.sources().chatTemplate();
    try {
      return named != null
          ? ChatTemplates.of(given(named), directory == null ? Map.of() : ChatTemplates.specialTokens(directory))
          : directory == null ? null : ChatTemplates.find(directory);
    } catch (TemplateException.Syntax e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private static ChatTemplate given(String named) throws IOException {
    try {
      return ChatTemplate.parse(Files.readString(Path.of(named)));
    } catch (TemplateException.Syntax e) {
      throw new IOException("chat-template " + named + ": " + e.getMessage(), e);
    } catch (IOException e) {
      throw new IOException("chat-template " + named + " cannot be read: " + e, e);
    }
  }
}
