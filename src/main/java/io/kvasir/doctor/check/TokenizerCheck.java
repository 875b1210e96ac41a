package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.Examination.LoadedModel;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.prompt.PromptMode;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Whether the router has a tokenizer for every model that has events. */
final class TokenizerCheck extends Check {
  private static final String WHY =
      "Its prompts are known by their text only, and the blocks that engines tell of are never found in them.";

  TokenizerCheck() {
    super("tokenizer", "Is the tokenizer of every model loaded?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    RouterExam.Prompts prompts = router == null ? null : router.prompts();
    if (router != null && prompts != null && 2 * prompts.byText() > prompts.decisions()) {
      found.warning(
          router.management(), "%d of the latest %d prompts were known by their text only: no tokenizer was loaded"
              .formatted(prompts.byText(), prompts.decisions()),
          WHY, "Add kvasir.models = [{ name = \"…\", directory = \"/models/…\" }] with the model's files.");
    }
    List<LoadedModel> models = examination.models();
    if (models == null) {
      return;
    }
    Set<String> unknown = new TreeSet<>(examination.byModel().keySet());
    for (LoadedModel model : models) {
      unknown.remove(model.config().name());
      unknown.removeAll(model.config().adapters());
      if (model.failure() != null) {
        found.error("model " + model.config().name(), "its files cannot be loaded: " + model.failure(),
            "A node does not start with it.",
            "Set models[].directory to the one with its tokenizer.json and chat template.");
      } else if (model.config().mode() == PromptMode.TEXT) {
        found.warning("model " + model.config().name(), "its tokenizer is not loaded: its mode is text", WHY,
            "Set models[].mode = exact, and directory to the one with its tokenizer.json.");
      }
    }
    for (String name : unknown) {
      found.warning("model " + name, "its tokenizer is not loaded: it is not among kvasir.models", WHY,
          "Add kvasir.models = [{ name = \"" + name + "\", mode = exact, directory = \"/models/…\" }] with its files,"
              + " or mode = engine.");
    }
  }
}
