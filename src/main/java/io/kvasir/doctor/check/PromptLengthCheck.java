package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;

/** Whether prompts are long enough to be cached at all. */
final class PromptLengthCheck extends Check {
  PromptLengthCheck() {
    super("prompt-length", "Have most prompts at least one block of tokens?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    RouterExam.Prompts prompts = router == null ? null : router.prompts();
    if (router != null && prompts != null && 2 * prompts.shorter() > prompts.decisions()) {
      found.warning(
          router.management(),
          "%d of the latest %d prompts are shorter than a block of %d tokens"
              .formatted(prompts.shorter(), prompts.decisions(), prompts.blockSize()),
          "Engines keep whole blocks only: of such prompts nothing can be found again, and routing acts like round"
              + " robin.",
          "Start the engines with a smaller --block-size, such as 16, and set models[].block-size; or expect hits from"
              + " longer prompts only.");
    }
  }
}
