package io.kvasir.programs;

/**
 * The state of a {@link ThrashGuard}; what it counts, it counts from its start.
 *
 * @param programs programs that are remembered
 * @param live those that are expected back
 * @param liveTokens tokens of their own
 * @param waiting programs that wait
 * @param held times that a program had to wait
 * @param paused times that a program was paused to make room
 * @param forced times that a program was let in since it had waited for the longest time
 */
public record GuardStatus(
    int programs, int live, long liveTokens, int waiting, long held, long paused, long forced) {}
