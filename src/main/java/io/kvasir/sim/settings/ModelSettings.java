package io.kvasir.sim.settings;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The model that a simulated engine serves.
 *
 * @param name name it is served under
 * @param directory where {@code tokenizer.json} and the chat template are; null for the demo model that ships
 * @param loras names of the adapters served beside the model
 * @param maxLength longest prompt and answer together, tokens; 0 for what the cache holds, at most 131,072
 */
public record ModelSettings(String name, @Nullable Path directory, List<String> loras, int maxLength) {
  /** Copies the list. */
  public ModelSettings {
    loras = List.copyOf(loras);
  }

  /** What the engine was started with: the directory, or the name where there is none. */
  public String root() {
    return directory == null ? name : directory.toAbsolutePath().toString();
  }

  void validate(SettingFaults faults) {
    if (name.isBlank()) {
      faults.add("model: give a name to serve the model under");
    }
    if (directory != null && !Files.isRegularFile(directory.resolve("tokenizer.json"))) {
      faults.add("model-dir: there is no tokenizer.json in " + directory);
    }
    faults.checkAtLeast("max-model-len", maxLength, 0);
  }
}
