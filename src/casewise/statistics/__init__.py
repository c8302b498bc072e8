"""Measures on arrays: pure functions, frozen results, no knowledge of cases."""

from casewise.statistics.bounds import (
    alike_bounds,
    null_variance,
    paired_share_bounds,
    share_bounds,
)
from casewise.statistics.ceilings import (
    OnePerson,
    Oracle,
    VoteReliability,
    fit_beta_binomial,
    one_person,
    oracle,
    reliability_icc,
    shift_ceiling,
)
from casewise.statistics.classification import (
    Classification,
    LabelChanges,
    Recalibration,
    brier_scores,
    calibration_error,
    classify,
    clustered_pearson,
    credits,
    cross_entropies,
    grouped_folds,
    label_changes,
    ratio,
    recalibrate,
    shift_pcc,
    weighted_f1,
)
from casewise.statistics.correction import (
    CANNOT_TELL,
    NOT_LABELLED,
    GradedReplies,
    Resampling,
    prediction_powered,
)
from casewise.statistics.effects import (
    DETECTABLE,
    GroupTest,
    PairVotes,
    ProportionTests,
    chi_squared,
    cochran_q,
    cohen_d_paired,
    holm,
    kruskal_wallis,
    proportion_tests,
    two_proportion_p,
    two_proportion_z,
)
from casewise.statistics.estimates import (
    BY_DESIGN,
    NO_INTERVAL,
    UNDEFINED,
    BoolArray,
    Bounds,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    as_loss,
    clustered_mean,
    clustered_ratio,
    combine,
    number_clusters,
    square_and_add,
    wilson_interval,
)
from casewise.statistics.events import (
    SurvivalPoint,
    kaplan_meier,
)
from casewise.statistics.power import (
    LEAST_SIZE,
    Answer,
    Level,
    PairedDesign,
    Plan,
    Quantity,
    as_plan_record,
    noninferiority_power,
    paired_power,
    plan_power,
    proportions_power,
    smallest,
)
from casewise.statistics.raters import (
    COEFFICIENTS,
    LEFT_OPEN,
    Agreement,
    AgreementOfTwo,
    agreement,
    agreement_of_two,
    cohen_kappa,
    summed_agreement,
)
