"""Classic mistakes, the question that each of them spoils, and who must notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hospital import badly_behaved
from planters import (
    Planter,
    all_groups,
    any_number_of_values,
    branch_without_owner,
    conversions_seen_through,
    form,
    fractions_added_up,
    grouped_by_collation,
    having_in_the_engine,
    inner_join,
    keys_as_they_are,
    keys_from_the_data,
    no_clamp,
    no_empty_row,
    no_row_cap,
    nobody_is_somebody,
    norm_in_doubles,
    not_in_as_sql_has_it,
    not_scaled,
    null_where_nobody_is,
    one_group_too_many,
    one_neighbour_instead_of_two,
    order_by_value,
    owner_by_its_place,
    owner_by_name,
    owner_of_one_side,
    owner_of_the_missing_side,
    owners_not_equated,
    partners_of_anybody,
    path_to_anybody,
    person_left_out,
    price_not_shared,
    printed,
    privacy_of_the_name,
    private_passes_for_public,
    public_rows_kept,
    ranks_taken_for_numbers,
    running_fractions,
    sum_without_zero,
    tied_by_name,
    ties_as_the_engine_likes,
    window_over_everybody,
    wrong_owner,
    zero_groups_missing,
)

NOBODY_HERE = next(person for person in range(1, 41) if person not in {v[0] for v in badly_behaved().tables["visits"]})
"""Somebody who is a patient without a visit."""


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A mistake, a question it spoils, and who catches it."""

    title: str
    plant: Planter
    sql: str
    seal: bool = False
    """`seal` refuses the plan."""
    audit: str | None = None
    """What the audit says when `seal` does not look."""
    people: tuple[int, ...] = (41, 43, 44)
    options: Mapping[str, object] = field(default_factory=dict)
    refused: str | None = None
    """The code with which the question is refused where the bug is not."""

    def __str__(self) -> str:
        return self.title


UNCLAMPED = form("clamp_whole", lambda parts: parts[0])
CONVERTED_FIRST = form("grains", lambda parts: f"CAST(round({parts[0]} * {parts[5]}) AS BIGINT)")
RANK_BELOW = form("at_most", lambda parts: f"({parts[0]} <= {parts[1]} + 1)")
COUNT_OF = "SELECT diagnosis, COUNT(*) FROM visits WHERE diagnosis IN ('flu', 'nor this') GROUP BY diagnosis"
BY_WARD = "SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id"
CHOOSE = {"mode": "choose"}
TOO_FAR = "more than their noise was priced for"

BY_PERSON = "SELECT COUNT(*) FROM (SELECT patient_id, ward_id, COUNT(*) AS n FROM visits GROUP BY 1, 2) t WHERE n > 1"
SWAPPED = (
    "SELECT COUNT(*) FROM (SELECT patient_id AS p, points AS x FROM visits "
    "UNION ALL SELECT points, patient_id FROM visits) t"
)

FIRST = (
    "SELECT SUM(charge) FROM (SELECT charge, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY diagnosis) AS rn "
    "FROM visits) t WHERE rn = 1"
)

BUGS = [
    Bug(title="no clamp", plant=no_clamp, sql="SELECT SUM(charge) FROM visits", seal=True, audit=TOO_FAR),
    Bug(title="no clamp is printed", plant=UNCLAMPED, sql="SELECT SUM(charge) FROM visits", audit=TOO_FAR),
    Bug(
        title="a product of unclamped distances",
        plant=UNCLAMPED,
        sql="SELECT COVAR_POP(charge, points) FROM visits",
        audit=TOO_FAR,
    ),
    Bug(
        title="products that are not weighted down nor clamped",
        plant=no_clamp,
        sql="SELECT COVAR_POP(charge, points) FROM visits",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(title="no row cap", plant=no_row_cap, sql="SELECT COUNT(*) FROM visits", seal=True, audit=TOO_FAR),
    Bug(
        title="values are converted before they are bounded",
        plant=CONVERTED_FIRST,
        sql="SELECT SUM(charge) FROM visits",
        audit="rows decide",
    ),
    Bug(title="one group too many", plant=one_group_too_many, sql=BY_WARD, seal=True, audit=TOO_FAR, options=CHOOSE),
    Bug(title="one group too many is printed", plant=RANK_BELOW, sql=BY_WARD, audit=TOO_FAR, options=CHOOSE),
    Bug(
        title="no row cap where the query lowers it",
        plant=no_row_cap,
        sql="SELECT COUNT(*) FROM visits LIMIT 1 PER PERSON",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(
        title="a person in more groups than the query allows",
        plant=one_group_too_many,
        sql="SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) ward_id, COUNT(*) FROM visits "
        "GROUP BY ward_id",
        seal=True,
        audit=TOO_FAR,
        options=CHOOSE,
    ),
    Bug(
        title="a person behind any number of private keys",
        plant=all_groups,
        sql="SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        seal=True,
        audit="behind more keys",
    ),
    Bug(title="groups by value instead of by hash", plant=order_by_value, sql=BY_WARD, seal=True, options=CHOOSE),
    Bug(
        title="HAVING in the engine",
        plant=having_in_the_engine,
        sql=f"{COUNT_OF} HAVING COUNT(*) <= 0",
        seal=True,
        audit="keys differ",
    ),
    Bug(title="empty groups missing", plant=zero_groups_missing, sql=COUNT_OF, seal=True, audit="keys differ"),
    Bug(title="empty groups missing in print", plant=printed("_join", inner_join), sql=COUNT_OF, audit="keys differ"),
    Bug(
        title="no row for an empty table",
        plant=printed("_group", no_empty_row),
        sql="SELECT COUNT(*) FROM visits WHERE diagnosis = 'nor this'",
        audit="keys differ",
    ),
    Bug(
        title="NULL where nobody is",
        plant=null_where_nobody_is,
        sql="SELECT SUM(charge) FROM visits WHERE diagnosis = 'nor this'",
        seal=True,
        audit="rows decide",
    ),
    Bug(
        title="private keys as they are",
        plant=keys_as_they_are,
        sql="SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        seal=True,
        audit="keys differ",
    ),
    Bug(
        title="public keys from the data",
        plant=keys_from_the_data,
        sql="SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        audit="the verdict, the price or the plan differs",
    ),
    Bug(
        title="labels by collation",
        plant=printed("_group", grouped_by_collation),
        sql="SELECT diagnosis FROM visits GROUP BY diagnosis",
        audit="behind more keys",
    ),
    Bug(
        title="any number of different values",
        plant=any_number_of_values,
        sql="SELECT COUNT(DISTINCT points) FROM visits",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(title="nobody is somebody", plant=nobody_is_somebody, sql="SELECT COUNT(*) FROM visits", seal=True),
    Bug(
        title="the owner by its name",
        plant=owner_by_name,
        sql="SELECT COUNT(*) FROM (SELECT points AS patient_id FROM visits) AS v",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(
        title="another owner is printed",
        plant=printed("_read", wrong_owner),
        sql="SELECT COUNT(*) FROM visits",
        audit=TOO_FAR,
    ),
    Bug(
        title="a private table passes for a public one",
        plant=private_passes_for_public,
        sql="SELECT COUNT(*) FROM visits",
        seal=True,
    ),
    Bug(title="a path to anybody", plant=path_to_anybody, sql="SELECT COUNT(*) FROM stays", seal=True),
    Bug(
        title="a join of different people",
        plant=owners_not_equated,
        sql="SELECT COUNT(*) FROM stays s JOIN beds b ON s.bed_id = b.bed_id",
        seal=True,
        audit=TOO_FAR,
        options={"rows": 4},
    ),
    Bug(
        title="a join on converted people",
        plant=conversions_seen_through,
        sql="SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id::BOOLEAN = b.patient_id::BOOLEAN",
        seal=True,
        audit=TOO_FAR,
        refused="DP303",
        options={"rows": 5000},
    ),
    Bug(
        title="a join on people as text",
        plant=conversions_seen_through,
        sql="SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id::VARCHAR = b.patient_id::VARCHAR",
        seal=True,
        refused="DP303",
    ),
    Bug(
        title="a column called like the person ties two people",
        plant=tied_by_name,
        sql="SELECT COUNT(*) FROM (SELECT ward_id AS patient_id FROM visits) a JOIN visits b USING (patient_id)",
        seal=True,
        audit=TOO_FAR,
        refused="DP303",
        people=(1, 2, 3, 4),
        options={"rows": 10},
    ),
    Bug(
        title="a common table called like a public one",
        plant=privacy_of_the_name,
        sql="WITH wards AS (SELECT * FROM visits) SELECT COUNT(*) FROM wards",
        seal=True,
    ),
    Bug(
        title="a sum that cannot be zero",
        plant=sum_without_zero,
        sql="SELECT SUM(ward_id) FROM visits",
        seal=True,
        audit=TOO_FAR,
        people=(NOBODY_HERE,),
        options={"relation": "change_one"},
    ),
    Bug(
        title="replacing a person priced as removing one",
        plant=one_neighbour_instead_of_two,
        sql="SELECT SUM(points) FROM visits",
        seal=True,
        options={"relation": "change_one"},
    ),
    Bug(
        title="every slot at the whole price",
        plant=price_not_shared,
        sql="SELECT COUNT(*), SUM(charge) FROM visits",
        seal=True,
        audit=TOO_FAR,
        options={"noise": "laplace"},
    ),
    Bug(
        title="not scaled into the ball",
        plant=not_scaled,
        sql="SELECT ward_id, SUM(charge) FROM visits GROUP BY ward_id",
        seal=True,
        audit=TOO_FAR,
        options={"mode": "scale"},
    ),
    Bug(
        title="public rows kept without anybody",
        plant=public_rows_kept,
        sql="SELECT COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward_id = w.id",
        seal=True,
    ),
    Bug(
        title="the owner of the side that may be missing",
        plant=owner_of_the_missing_side,
        sql="SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id",
        seal=True,
    ),
    Bug(title="groups that several people share", plant=person_left_out, sql=BY_PERSON, seal=True),
    Bug(
        title="fractions added up inside a person",
        plant=fractions_added_up,
        sql="SELECT COUNT(*) FROM (SELECT patient_id, SUM(charge) AS s FROM visits GROUP BY patient_id) t WHERE s > 50",
        seal=True,
    ),
    Bug(title="the owner of a union by its place", plant=owner_by_its_place, sql=SWAPPED, seal=True, audit=TOO_FAR),
    Bug(title="a branch of a union without an owner", plant=branch_without_owner, sql=SWAPPED, seal=True),
    Bug(
        title="rows are kept for what somebody else has",
        plant=partners_of_anybody,
        sql="SELECT COUNT(*) FROM stays s WHERE EXISTS (SELECT 1 FROM beds b WHERE b.bed_id = s.bed_id "
        "AND b.patient_id < 44)",
        seal=True,
        audit=TOO_FAR,
        options={"rows": 1},
    ),
    Bug(
        title="NULL among the others of NOT IN",
        plant=not_in_as_sql_has_it,
        sql="SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE points > 0)",
        seal=True,
    ),
    Bug(
        title="the owner of one side of a FULL JOIN",
        plant=owner_of_one_side,
        sql="SELECT COUNT(*) FROM patients p FULL JOIN visits v ON p.patient_id = v.patient_id AND v.points > 0",
        seal=True,
    ),
    Bug(
        title="a window over everybody",
        plant=window_over_everybody,
        sql="SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE n % 3 = 0",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(
        title="tied rows of a person numbered as the engine likes", plant=ties_as_the_engine_likes, sql=FIRST, seal=True
    ),
    Bug(
        title="ranks taken for row numbers",
        plant=ranks_taken_for_numbers,
        sql="SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY moment) AS r FROM visits) t "
        "WHERE r = 1",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(
        title="a running sum of fractions",
        plant=running_fractions,
        sql="SELECT COUNT(*) FROM (SELECT SUM(charge) OVER (PARTITION BY patient_id ORDER BY day) AS s FROM visits) t "
        "WHERE s > 1000",
        seal=True,
    ),
    Bug(title="the norm in doubles", plant=norm_in_doubles, sql=BY_WARD, seal=True, options={"mode": "scale"}),
]
