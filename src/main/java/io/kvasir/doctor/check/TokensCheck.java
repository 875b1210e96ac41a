package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.TokenExam;
import io.kvasir.engines.EngineDescription;

/** Whether our tokens are the engine's, of a text and of a conversation. */
final class TokensCheck extends EngineCheck {
  TokensCheck() {
    super("tokens", "Does the engine make the same tokens of a text and of a conversation as the router?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    TokenExam tokens = engine.tokens();
    if (tokens == null) {
      return;
    }
    if (tokens.text() != null) {
      found.error(
          engine.target(), "its tokenizer is another than the router's for " + tokens.model() + ": the tokens of a text"
              + " differ " + tokens.text(),
          "The blocks that the router looks for are not those that the engine has.",
          "Set models[].directory to the files that the engine has (its --tokenizer, else --model)"
              + root(told) + ", or mode = engine.");
    } else if (tokens.conversation() != null) {
      found.error(
          engine.target(), "its chat template is another than the router's for " + tokens.model() + ": the tokens of a"
              + " conversation differ " + tokens.conversation(),
          "The prompts of chats are not found in its cache, though those of completions are.",
          "Set models[].chat-template to the engine's --chat-template, and template-kwargs as its"
              + " --default-chat-template-kwargs.");
    }
  }

  private static String root(EngineDescription told) {
    String root = told.baseModels().getFirst().tokenizer();
    String place = root == null ? told.baseModels().getFirst().root() : root;
    return place == null ? "" : ", here " + place;
  }
}
