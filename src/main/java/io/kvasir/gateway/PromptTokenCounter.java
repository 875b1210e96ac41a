package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.execution.Call;
import io.kvasir.execution.TokenCounter;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.PreparationLimiter.OverloadException;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptReason;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.Prompts;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Counts the tokens of streams that were cut by preparing two prompts: the client's, and that of the request for the
 * rest. The second has to begin with the blocks of the first, and be longer by as many tokens as the events' texts
 * have, tokenised one by one. Tokens that a model generated otherwise than its tokenizer writes the text, or a template
 * that puts something before an assistant's message, show as a difference. Thread-safe.
 */
public final class PromptTokenCounter implements TokenCounter {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Prompts prompts;

  /** A counter for the models of these prompts. */
  public PromptTokenCounter(Prompts prompts) {
    this.prompts = prompts;
  }

  @Override
  public TokenCount count(CutStream stream) {
    Prompt begun = prompt(stream.begun(), stream.begun().http().body());
    Prompt rest = begun == null ? null : prompt(stream.begun(), stream.rest());
    if (begun == null || rest == null || begun.mode() != rest.mode()) {
      return new TokenCount.Unknown();
    }
    boolean own = rest.mode() == PromptMode.EXACT;
    int added = rest.tokens() - begun.tokens();
    // Of an engine's tokenizer only the sum is known: it shows that every event had one token, or that some had more.
    ToIntFunction<String> tokens =
        own ? text -> prompts.textTokens(stream.begun().decision().model(), text) : text -> text.isEmpty() ? 0 : 1;
    int counted = counted(stream.pieces(), stream.blanks(), tokens);
    return counted == added && continues(begun, rest) ? new TokenCount.Exact(added, rest.tokens())
        : own || counted > added || !continues(begun, rest) ? new TokenCount.Different()
        : new TokenCount.Unknown();
  }

  /** The prompt of a request, null when its tokens are not known. */
  private @Nullable Prompt prompt(Call call, byte[] body) {
    Api api = api(call.http().target());
    if (api == null) {
      return null;
    }
    try (Permit permit = prompts.limiter().acquire(body.length, Cancellation.NONE)) {
      JsonNode json = JSON.readTree(body);
      Prompt prompt =
          prompts.prepare(new PromptRequest(api, call.decision().model(), json, true, null), permit);
      boolean tokenised = prompt.mode() == PromptMode.EXACT || prompt.mode() == PromptMode.ENGINE;
      boolean whole =
          prompt.reason() == PromptReason.AS_CONFIGURED || prompt.reason() == PromptReason.NO_PARITY;
      return tokenised && whole ? prompt : null;
    } catch (IOException | OverloadException | CancellationException unknown) {
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private static @Nullable Api api(String target) {
    int query = target.indexOf('?');
    return switch (ApiPath.at(query < 0 ? target : target.substring(0, query))) {
      case CHAT -> Api.CHAT;
      case COMPLETIONS -> Api.COMPLETIONS;
      case null, default -> null;
    };
  }

  private static boolean continues(Prompt begun, Prompt rest) {
    long[] blocks = begun.chain().hashes();
    long[] all = rest.chain().hashes();
    return begun.chain().blockSize() == rest.chain().blockSize()
        && all.length >= blocks.length
        && Arrays.equals(blocks, 0, blocks.length, all, 0, blocks.length);
  }

  /** Tokens of the pieces but for their blanks at the end; -1 where those are not tokens of their own. */
  private static int counted(List<String> pieces, int blanks, ToIntFunction<String> tokens) {
    int kept = pieces.stream().mapToInt(String::length).sum() - blanks;
    int counted = 0;
    for (String piece : pieces) {
      int whole = tokens.applyAsInt(piece);
      if (kept >= piece.length()) {
        counted += whole;
      } else if (kept > 0) {
        int before = tokens.applyAsInt(piece.substring(0, kept));
        if (before + tokens.applyAsInt(piece.substring(kept)) != whole) {
          return -1;
        }
        counted += before;
      }
      kept = Math.max(0, kept - piece.length());
    }
    return counted;
  }
}
