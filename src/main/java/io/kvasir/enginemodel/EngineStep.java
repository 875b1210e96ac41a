package io.kvasir.enginemodel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One engine iteration: the sequences in it and how many tokens of each are computed. */
public final class EngineStep<S extends Sequence> {
  /** As {@link #sequences()}, for the scheduler, which looks at them in every iteration. */
  final List<S> sequences = new ArrayList<>();
  private int tokens;
  private int decoding;
  private double attentionPairs;
  private long decodeContext;
  private int preempted;
  private int loadedTokens;

  EngineStep() {}

  void add(S sequence, int chunk) {
    sequences.add(sequence);
    sequence.chunk = chunk;
    tokens += chunk;
    if (sequence.decoding()) {
      decoding++;
      decodeContext += sequence.computed;
    } else {
      attentionPairs += chunk * (sequence.computed + chunk / 2.0);
    }
  }

  /** Makes this the iteration so many later, or earlier when negative, in which all sequences decode on. */
  public void advance(int iterations) {
    decodeContext += (long) iterations * sequences.size();
  }

  /** Whether every sequence decodes. */
  boolean decodesOnly() {
    return decoding > 0 && decoding == sequences.size();
  }

  void load(int hostTokens) {
    loadedTokens += hostTokens;
  }

  void countPreemption() {
    preempted++;
  }

  /** The sequences computed, in the order of admission. */
  public List<S> sequences() {
    return Collections.unmodifiableList(sequences);
  }

  /** The number of tokens computed: prompt chunks and one for every decoding sequence. */
  public int tokens() {
    return tokens;
  }

  /** Σ q · (ctx + q/2) over the prompt chunks. */
  public double attentionPairs() {
    return attentionPairs;
  }

  /** The total context of the decoding sequences, in tokens. */
  public long decodeContext() {
    return decodeContext;
  }

  /** The number of sequences preempted when this step was planned. */
  public int preempted() {
    return preempted;
  }

  /** The number of tokens loaded from host memory before anything is computed. */
  public int loadedTokens() {
    return loadedTokens;
  }
}
