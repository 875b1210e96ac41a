package io.kvasir.prompt;

import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.tokens.Tokenizer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of whole prompts by a model's own files, without the cache of prefixes. Thread-safe.
 *
 * @param tokenizer null when there is none
 * @param renderer null when there is no chat template, nor need of one
 */
record LocalTokenizer(@Nullable Tokenizer tokenizer, @Nullable ChatRenderer renderer) {
  /**
   * The token ids of a prompt up to message {@code item} if that is not -1; null if they are not known.
   *
   * @param engine for which it is prepared
   * @throws io.kvasir.prompt.template.TemplateException when the template refuses the conversation or fails
   */
  int @Nullable [] ids(PromptSource.Untokenized prompt, int item, EngineVersion engine) {
    String text = switch (prompt) {
      case PromptSource.Text given -> given.text();
      case PromptSource.Chat _ when renderer == null -> null;
      case PromptSource.Chat chat when !renders(chat, engine) -> null;
      case PromptSource.Chat chat when item < 0 -> renderer.render(chat.body(), engine).toString();
      case PromptSource.Chat chat -> renderer.renderUpToItem(chat.body(), item, engine).toString();
    };
    if (tokenizer == null || text == null) {
      return null;
    }
    int[] ids = tokenizer.encode(text, prompt.addSpecialTokens());
    // The last token before an item may merge with what follows.
    return item < 0 ? ids : Arrays.copyOf(ids, Math.max(0, ids.length - 1));
  }

  /** Whether a conversation for an engine is rendered here. */
  boolean renders(PromptSource.Chat chat, EngineVersion engine) {
    return renderer != null && renderer.renders(chat.body(), engine);
  }

  /** Whether an engine's {@code /tokenize} makes the tokens of a prompt that it reads to answer it. */
  boolean isTokenizedAlike(PromptSource.Untokenized prompt, EngineVersion engine) {
    return switch (prompt) {
      case PromptSource.Text text -> text.addSpecialTokens() || !(engine instanceof TensorRtVersion);
      case PromptSource.Chat chat ->
          engine.tokenizesConversations() && (renderer == null || renderer.isTokenizedAlike(chat.body(), engine));
    };
  }
}
